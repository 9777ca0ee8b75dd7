#pragma once

#include <span>

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

}  // namespace orch::measure
