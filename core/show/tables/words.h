#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/date.h"
#include "core/plan/estimate.h"
#include "core/record/quantities.h"
#include "core/show/answer.h"

namespace orch::tables {

// "3,000,000", and "0.2" for values that would round to a small integer.
std::string amount(double value);

// Three significant digits, or all digits of a large number: "0.83", "71.3", "1,234".
std::string significant(double value);

// A quantity in the unit of display: "15.9", "1,234", "3.2 %".
std::string quantity_text(record::Dimension unit, double value);

// The number itself with its limits (bytes as integers), and its text.
show::Cell quantity_cell(const record::Quantity& quantity, const record::Quantity::Value& value);

bool is_in_bytes(const record::Quantity& quantity);

// "12.9B", "125M".
std::string size_text(double params);

// "+12 %": the estimate is too high. Empty if one is unknown.
std::string error_text(double estimated, double measured);

std::string day_text(const std::optional<Date>& day);  // "2027-03-14"; none: "never"

std::string range_text(const plan::EstimateRange& range);  // "167–274", "0.42–0.68"

// "20.1 days (17.0–23.8)".
std::string days_text(const plan::Estimate& estimate, std::string_view unit = " days");

// "as hf-deepspeed-2022 had it here: 19.0 days", for each other stack that was measured near the
// run.
std::vector<std::string> others_text(const plan::Estimate& estimate);

}  // namespace orch::tables
