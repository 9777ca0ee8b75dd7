#pragma once

#include <cstddef>
#include <vector>

namespace orch::plan {

// Days of models of different sizes do not compare. Which size each number of parameters is of: 0
// for the smallest and so on; those within a tenth of the smallest of them are of one size, so that
// shapes for one target stay together.
std::vector<std::size_t> size_classes(const std::vector<double>& params);

}  // namespace orch::plan
