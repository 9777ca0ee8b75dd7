#pragma once

#include <string>
#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// Repeats of one configuration differ by this much: the published ones by 1 to 9 %, most of them by
// less than 5. A smaller difference between single runs shows nothing.
inline constexpr double kRepeatsDiffer = 0.05;

// A metric of a group against the first one's, as far as its values tell. Why they do not compare
// at all, where that is so.
Judgement judge(const Metric& metric, std::size_t group, const std::string& not_comparable);

// Whether measured values (or estimated ones) cannot be told apart: the rule of judge().
bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated);

}  // namespace orch::compare
