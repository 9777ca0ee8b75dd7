#pragma once

#include <span>
#include <string>

#include "core/plan/cluster.h"
#include "core/price/measure/measurement.h"

namespace orch::measure {

// seconds = fixed + amount * per_unit.
struct FittedLine {
  double fixed = 0;
  double per_unit = 0;
};

// The line with the least squares of relative errors; neither part is negative. With one point, the
// fixed part is 0.
FittedLine fit_line(std::span<const MeasuredPoint> points);

// Latency and bandwidth of a ring of ranks, by the estimator's formula: an all-reduce of n ranks
// takes the latency twice for each level of a tree, and sends 2 (n - 1) / n of its bytes.
struct RingFit {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes/s
};
RingFit fit_all_reduce(std::span<const MeasuredPoint> points, std::int64_t ranks);

// FLOP/s of the fastest product.
double best_rate(std::span<const MeasuredProduct> products);

// The bytes that estimates count for the measured kernels, which turn seconds into bandwidths. 0:
// unknown, and no constant is set for such kernels.
struct ChargedBytes {
  double element_wise = 0;  // for a layer's norms and activations, forward and backward
  double softmax = 0;       // for its scores
  double cross_entropy = 0;
  double optimizer = 0;  // for a step of AdamW, per parameter
};

// The base partition with every constant that was measured; `where` begins their origins: "measured
// on Neoverse-N1 x 2, 2026-11-15".
plan::Partition measured_partition(const DeviceMeasurement& measured, const ChargedBytes& charged,
                                   plan::Partition base, const std::string& where);

}  // namespace orch::measure
