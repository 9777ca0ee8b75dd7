#pragma once

#include <string>

#include "core/price/measure/measurement.h"
#include "core/plan/cluster.h"

namespace orch::measure {

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
