#pragma once

#include <string>
#include <vector>

#include "core/plan/planned.h"
#include "core/report/report.h"

namespace orch::report {

// A run's place. Runs whose 90 % ranges of what they are ordered by overlap with the first one's
// share it.
struct Rank {
  std::size_t place = 0;  // 0: does not fit
  bool tie = false;

  std::string text() const;  // "1=", "7", or nothing
};

// For runs in the order of the measure, those that do not fit last.
std::vector<Rank> ranks(const std::vector<const plan::Planned*>& runs,
                        Measure measure = Measure::time);

}  // namespace orch::report
