#pragma once

#include <span>
#include <vector>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::estimate {

// What a step takes at one layout: so much for each micro-batch, and the rest.
struct StepCost {
  double micro_seconds = 0;
  double fixed_seconds = 0;
};
StepCost step_cost(const plan::Run& run, const plan::Estimate& estimate);

// The whole training in stretches: the ramp-up cut where the number of nodes changes, then the full
// batch. Each phase has its cost; the estimate is the full batch's.
std::vector<plan::Stretch> lay_out(const plan::Run& run, std::span<const plan::Phase> phases,
                                   std::span<const StepCost> costs, const plan::Estimate& estimate);

// Days and GPU-hours are the sums over the stretches.
void add_up(std::span<const plan::Stretch> stretches, plan::Estimate& out);

}  // namespace orch::estimate
