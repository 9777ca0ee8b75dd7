#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/plan/cluster.h"

namespace orch::plan {

// A constant that measured rows can correct: a partition's own, and the factor on it that a stack
// has.
struct Tunable {
  std::string_view name;        // as cluster files spell it
  Constant& (*in)(Partition&);  // where it lives
  // Standard deviations of the logarithms before any row is seen: of the partition's constant, and
  // of a stack's factor. 0: not fitted.
  double doubt = 0, stack_doubt = 0;
  double min = 0, max = 0;  // what it can be
};

std::span<const Tunable> all_tunables();

// Of these, those of the step time; those of the memory.
std::span<const Tunable> time_tunables();
std::span<const Tunable> memory_tunables();

const Tunable* find_tunable(std::string_view name);

// Whether it is in seconds.
bool is_time(std::string_view name);

// A tunable's value as people read it: "676 us", "1.6 GB", "0.8137".
std::string shown(std::string_view name, double value);

}  // namespace orch::plan
