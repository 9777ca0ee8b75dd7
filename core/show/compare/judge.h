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

// "1.36x faster (1.33 to 1.39)", "1.36x slower", "as fast to within 0.5 %".
std::string speed_text(const statistics::Interval& ratio);

// Whether measured values (or estimated ones) cannot be told apart: the rule of judge().
bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated);

}  // namespace orch::compare
