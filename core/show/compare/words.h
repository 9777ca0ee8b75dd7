#pragma once

#include <string>

#include "core/show/compare/compare.h"

namespace orch::compare {

// "2,312", "2.31"; with digits that are not negative, so many after the point.
std::string number_text(double value, int digits = -1);

// "2.31 (2.3 to 2.33)"; with digits, so many after the point.
std::string interval_text(const statistics::Interval& interval, int digits = -1);

// "350", "258 (249 to 350, range of 3)", "not measured"; "?" after a doubtful one.
std::string measured_text(const Metric& metric, const Value& value);
std::string estimated_text(const Metric& metric, const Value& value);

// The loss curves and their spikes, of every group against the first one.
Section loss_section(const Comparison& comparison);

// "the same within the noise of the curves, from 2B to 80B tokens".
std::string losses_text(const Losses& losses);

}  // namespace orch::compare
