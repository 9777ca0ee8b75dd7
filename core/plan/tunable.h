#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/plan/cluster.h"

namespace orch::plan {

// A constant of a partition that measured rows can correct.
struct Tunable {
  std::string_view name;        // as cluster files spell it
  Constant& (*in)(Partition&);  // where it lives
  double doubt = 0;             // standard deviation of its logarithm before any row is seen
  double min = 0, max = 0;      // what it can be
};

// Those of the step time; those of the memory.
std::span<const Tunable> time_tunables();
std::span<const Tunable> memory_tunables();

// Spreads: they follow from what is left over after a fit.
std::span<const Tunable> spread_tunables();

const Tunable* find_tunable(std::string_view name);

// A tunable's value as people read it: "676 us", "1.6 GB", "0.8137".
std::string shown(std::string_view name, double value);

}  // namespace orch::plan
