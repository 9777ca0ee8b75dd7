#pragma once

#include <optional>

#include "core/base/date.h"

namespace orch::plan {

// When a training can run: from a day on, for a share of the time.
struct Calendar {
  std::optional<Date> start;
  double availability = 1;  // what failures and maintenance leave of a day

  // The days on the wall that so many days of training take.
  double calendar_days(double days) const { return days / availability; }

  // The day on which so many days of training end; none without a start, or after the year 9999.
  std::optional<Date> end(double days) const;
};

}  // namespace orch::plan
