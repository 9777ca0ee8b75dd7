#pragma once

#include <span>
#include <string>

#include "core/plan/cluster.h"
#include "core/price/measure/measurement.h"

namespace orch::measure {

// seconds = fixed + amount * per_unit.
struct Line {
  double fixed = 0;
  double per_unit = 0;
};

// The line whose relative errors have the smallest squares; neither part is negative. With one
// point, all of it is per unit.
Line fit_line(std::span<const Point> points);

// What a ring of ranks gets, by the estimator's formula: an all-reduce of n ranks takes the latency
// twice for each level of a tree, and sends 2 (n - 1) / n of its bytes.
struct RingFit {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes/s
};
RingFit fit_all_reduce(std::span<const Point> points, std::int64_t ranks);

// FLOP/s of the fastest.
double best_rate(std::span<const Product> products);

// Bytes that estimates charge for what was measured: by them, seconds become bandwidths. 0: not
// known, and nothing is said about such kernels.
struct Charged {
  double element_wise = 0;  // of a layer's norms and activations, forward and backward
  double softmax = 0;       // of its scores
  double cross_entropy = 0;
  double optimizer = 0;  // of a step of AdamW, for each parameter
};

// The base with every constant that the measurement speaks of; `where` begins their origins:
// "measured on Neoverse-N1 x 2, 2026-11-15".
plan::Partition measured_partition(const Measurement& measured, const Charged& charged,
                                   plan::Partition base, const std::string& where);

}  // namespace orch::measure
