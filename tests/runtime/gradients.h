#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "backends/runtime/model/parameters.h"

namespace orch::test {

// Parameters of these shapes, named p0, p1, ...
inline train::Parameters parameters_of(const std::vector<std::vector<std::int64_t>>& shapes,
                                       const train::ParameterOptions& options = {}) {
  std::vector<train::ParameterSpec> specs;
  for (const auto& shape : shapes)
    specs.push_back({fmt::format("p{}", specs.size()), shape, -1, train::WeightInit::zeros, false});
  return train::Parameters(specs, options);
}

// The gradient of a parameter on a rank in a step, in fp64: every rank can compute all of them.
inline at::Tensor gradient_of(const train::Parameter& parameter, int rank, std::int64_t step) {
  const auto i = at::arange(parameter.count, at::kDouble);
  const auto phase =
      0.7 * rank + 0.3 * static_cast<double>(step) + 0.01 * static_cast<double>(parameter.offset);
  return (i * 0.37 + phase).sin().add((i * 0.011 * (rank + 1)).cos()).view(parameter.spec.shape);
}

inline at::Tensor mean_of(const train::Parameter& parameter, int ranks, std::int64_t step) {
  auto sum = at::zeros(parameter.spec.shape, at::kDouble);
  for (int rank = 0; rank < ranks; ++rank) sum += gradient_of(parameter, rank, step);
  return sum / ranks;
}

// The largest difference, relative to the largest element.
inline double difference(const at::Tensor& got, const at::Tensor& expected) {
  const auto scale = expected.abs().max().item<double>();
  return (got.to(at::kDouble) - expected).abs().max().item<double>() / (scale > 0 ? scale : 1);
}

}  // namespace orch::test
