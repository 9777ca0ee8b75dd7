#pragma once

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

}  // namespace orch::published
