#pragma once

#include <vector>

#include "core/show/compare/compare.h"

namespace orch::compare {

// Says of every difference which others it follows from: data_parallel from gpus, tensor_parallel
// and pipeline_parallel, as far as the numbers agree with that.
void find_followers(std::vector<Difference>& differences, std::size_t groups);

// Which differences of a group to the first one can explain an aspect of the result.
Explanation explain(const std::vector<Difference>& differences, std::size_t group, Aspect aspect);

}  // namespace orch::compare
