#pragma once

#include <vector>

#include "core/show/compare/compare.h"
#include "core/show/compare/size.h"

namespace orch::compare {

// The groups without records that are estimated not to fit and were not run, where others remain: a
// median of what cannot run tells nothing. How many each has lost is in left_out, by group.
std::vector<Cohort> without_misfits(const std::vector<Cohort>& groups,
                                   std::vector<std::size_t>& left_out);

// The fastest record of each group against the first group's, for every group but that; nothing
// where a group has no time. Those that are doubtful are taken only where there is no other.
std::vector<BestAgainst> best_against_best(const std::vector<Cohort>& groups, const Sizing& sizing);

}  // namespace orch::compare
