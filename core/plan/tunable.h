#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/plan/cluster.h"

namespace orch::plan {

// A constant that measured rows can correct: a partition's own value, or a stack's factor on it.
struct Tunable {
  std::string_view name;        // its name in cluster files
  Constant& (*in)(Partition&);  // the member that stores it
  // Prior standard deviations of the logarithms: of the partition's constant, and of a stack's
  // factor. 0: not fitted.
  double doubt = 0, stack_doubt = 0;
  double min = 0, max = 0;  // valid range
};

std::span<const Tunable> all_tunables();

// The ones that affect the step time; the ones that affect memory.
std::span<const Tunable> time_tunables();
std::span<const Tunable> memory_tunables();

const Tunable* find_tunable(std::string_view name);

// True if it is in seconds.
bool is_time(std::string_view name);

// A tunable's value as people read it: "676 us", "1.6 GB", "0.8137".
std::string shown(std::string_view name, double value);

}  // namespace orch::plan
