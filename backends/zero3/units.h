#pragma once

#include <vector>

#include "backends/runtime/step/reducer.h"

namespace orch::zero3 {

// The units that are gathered, reduced and freed together, in the order of the flat buffers, which
// is backward's: the final norm (its layer is the number of layers), each layer, and the embedding
// (layer -1).
std::vector<train::BucketRange> units_of(const train::ParameterLayout& layout, std::int64_t layers);

inline std::size_t unit_of(std::int64_t layer, std::int64_t layers) {
  return static_cast<std::size_t>(layers - layer);
}

}  // namespace orch::zero3
