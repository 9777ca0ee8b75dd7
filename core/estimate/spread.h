#pragma once

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::estimate {

inline constexpr double kNineOfTen = 1.645;  // of normal values lie within so many deviations

// Standard deviations of log(measured / predicted).
struct Spread {
  double time = 0;
  double memory = 0;
};

// How far from the estimate a measurement may lie.
Spread spread_of(const plan::Partition& at);

// Fills the 90 % ranges of step time and memory around their estimates.
void add_ranges(const plan::Partition& at, plan::Estimate& out);

}  // namespace orch::estimate
