#pragma once

#include <math.h>

#include "core/base/counter_random.h"

namespace orch::train {

using counter_random::bits;
using counter_random::combine;
using counter_random::key_of;
using counter_random::mix;
using counter_random::uniform;

// Box-Muller transform: two uniform numbers give a normally distributed one.
ORCH_HOST_DEVICE inline float normal(std::uint64_t key, std::uint64_t index) {
  const double u = 1.0 - uniform(key, 2 * index), v = uniform(key, 2 * index + 1);
  return static_cast<float>(sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v));
}

}  // namespace orch::train
