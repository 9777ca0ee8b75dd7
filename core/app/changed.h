#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/cluster.h"
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

// The constants of a cluster's partition whose origin begins with those words.
std::vector<ChangedConstant> changed_constants(const std::string& cluster,
                                               const plan::Partition& before,
                                               const plan::Partition& after,
                                               std::string_view origin);

// head: header of the new value.
show::Table changed_table(std::string name, std::string title, const char* head,
                          std::vector<ChangedConstant> rows);

}  // namespace orch::app
