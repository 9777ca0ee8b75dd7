#pragma once

#include <string>
#include <vector>

#include "core/show/compare/compare.h"
#include "core/show/compare/size.h"

namespace orch::compare {

// The metrics that a group has, measured or estimated, in every group. Kinds are the groups'.
std::vector<Metric> metrics_of(const std::vector<Cohort>& groups, const std::vector<Kind>& kinds,
                               const Sizing& sizing);

}  // namespace orch::compare
