#pragma once

#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// The groups by time to train, the best first: by what was measured where two groups or more have
// it, else by estimates. Those without come last and have no place.
std::vector<Rank> ranking_of(const Comparison& comparison);

// The metric that groups are ordered by; null: none of them tells time.
const Metric* headline(const Comparison& comparison);

}  // namespace orch::compare
