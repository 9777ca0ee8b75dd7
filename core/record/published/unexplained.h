#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace orch::published {

// A row that no model explains, and why we think so.
struct Unexplained {
  std::string reason;
  bool apart = false;  // contradicts its own repeats: scored on its own
};

// By id, from a CSV text with the columns id, reason and apart.
Result<std::map<std::string, Unexplained>> parse_unexplained(std::string_view text,
                                                             const std::string& file);

}  // namespace orch::published
