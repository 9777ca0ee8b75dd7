#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/record/record.h"

namespace orch::events {

// What the events of a run's attempts tell together.
struct History {
  record::Measurement measured;  // time_items from the last profile, ungrouped
  std::vector<std::pair<std::string, std::string>> versions;  // torch, device
  double start = 0, end = 0;                                  // seconds since 1970; 0: not known
};

// Reads the events of all attempts from beginning to end, in their order. A step that a later
// attempt did again counts as that one did it.
History read_history(const std::vector<fs::path>& attempt_folders);

}  // namespace orch::events
