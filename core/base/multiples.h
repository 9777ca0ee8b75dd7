#pragma once

// Integers that divide each other. Header-only, because authors of backends use it too.

#include <algorithm>
#include <cstdint>

namespace orch {

inline std::int64_t round_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

// The largest divisor of a number up to `most`; 1 if there is none. Sizes go up to 1e12, and
// counting up to the square root of that is fast.
inline std::int64_t divisor_below(std::int64_t number, std::int64_t most) {
  std::int64_t best = 1;
  for (std::int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0)
      for (const auto divisor : {i, number / i})
        if (divisor <= most) best = std::max(best, divisor);
  return best;
}

}  // namespace orch
