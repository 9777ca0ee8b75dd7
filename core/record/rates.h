#pragma once

#include <optional>

#include "core/record/record.h"

namespace orch::record {

// How fast a record is, whichever way it says so. Values are positive and finite; nothing where it
// cannot be known.

// Of one step: the global batch, said or the product of what makes it up, times the sequence.
std::optional<double> tokens_per_step(const Record& record);

// From steps where they have an interval, else as days or a rate were stated.
std::optional<statistics::Interval> seconds_per_token(const Record& record);

// With the range of the step.
std::optional<statistics::Interval> estimated_seconds_per_token(const Record& record);

// The same as people say it.
inline constexpr double kDaysPer100B = 1e11 / 86400;  // of a second per token

}  // namespace orch::record
