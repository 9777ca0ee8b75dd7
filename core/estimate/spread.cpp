#include "core/estimate/spread.h"

#include <cmath>

namespace orch::estimate {

Spread spread_of(const plan::Partition& at) {
  const auto& efficiency = at.efficiency;
  return {efficiency.time_spread.value, efficiency.memory_spread.value};
}

void add_ranges(const plan::Partition& at, plan::Estimate& out) {
  const auto spread = spread_of(at);
  const double time = std::exp(kNineOfTen * spread.time);
  const double memory = std::exp(kNineOfTen * spread.memory);
  out.step_low = out.step_seconds / time;
  out.step_high = out.step_seconds * time;
  out.memory_low = out.peak_memory / memory;
  out.memory_high = out.peak_memory * memory;
}

}  // namespace orch::estimate
