#pragma once

#include <cmath>
#include <cstdint>

namespace orch::data {

// The entropy of a synthetic token, given the previous one, in nats: the lowest mean loss that any
// model can reach.
inline double synthetic_entropy(std::int64_t vocab) {
  const double other = 0.25 / static_cast<double>(vocab), next = 0.75 + other;
  return -next * std::log(next) - static_cast<double>(vocab - 1) * other * std::log(other);
}

}  // namespace orch::data
