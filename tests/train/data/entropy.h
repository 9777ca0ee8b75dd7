#pragma once

#include <cmath>
#include <cstdint>

namespace orch::data {

// Of a synthetic token, given the one before it, in nats: the mean loss that no model can get
// below.
inline double synthetic_entropy(std::int64_t vocab) {
  const double other = 0.25 / static_cast<double>(vocab), next = 0.75 + other;
  return -next * std::log(next) - static_cast<double>(vocab - 1) * other * std::log(other);
}

}  // namespace orch::data
