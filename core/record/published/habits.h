#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::published {

// What the rows of a source or a framework leave unsaid and other evidence tells: the value of an empty
// cell.
struct Habit {
  std::string source, gpu, framework;  // an empty one: all of them
  std::string column, value, reason;
};

// Of a CSV text with the columns source, gpu, column, value and reason, and perhaps framework.
Result<std::vector<Habit>> parse_habits(std::string_view text, const std::string& file);

// A row that no model explains, and why we think so.
struct Unexplained {
  std::string reason;
  bool apart = false;  // contradicts its own repeats: scored on its own
};

// By id, from a CSV text with the columns id, reason and apart.
Result<std::map<std::string, Unexplained>> parse_unexplained(std::string_view text,
                                                             const std::string& file);

}  // namespace orch::published
