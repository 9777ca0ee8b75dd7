#pragma once

#include <vector>

#include "core/show/compare/compare.h"
#include "core/show/compare/size.h"

namespace orch::compare {

// The ratio over pairs: the geometric mean, with Student's t on the logarithms. Never narrower than
// what repeats of one configuration differ by: pairs that agree by chance, or because one was
// computed from the other, know no more than that. One pair has no limits; all are positive.
statistics::Interval paired_interval(const std::vector<double>& ratios);

// The pairs of a group with the first one; none where neither of the two is a mixture, as then the
// groups are the pair. A record is in one pair at most. Pairs of measurements go before pairs of
// estimates and are never mixed with them.
LikeForLike like_for_like(const Cohort& base, const Cohort& other, std::size_t group,
                          const Sizing& sizing);

// What is the same row, log or run, with the same numbers, once.
Cohort without_copies(const Cohort& group);

}  // namespace orch::compare
