#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/show/answer.h"

namespace orch::app {

// A constant before and after a fit or measurement.
struct ChangedConstant {
  std::string of;  // a machine or a stack
  std::string name;
  std::optional<double> was;  // nothing: it was not set
  double now = 0;
  std::string was_text, now_text;
};

// head: header of the new value.
show::Table changed_table(std::string name, std::string title, const char* head,
                          std::vector<ChangedConstant> rows);

}  // namespace orch::app
