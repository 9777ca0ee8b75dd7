#pragma once

#include <vector>

#include "core/price/tune/belief.h"

namespace orch::tune {

// Measurements of recorded runs in the order that the belief asks for, and the true regrets: of the
// run that was found, and of other ways to choose.
struct Replay {
  std::vector<std::size_t> measured;
  double regret = 0;           // of the run chosen in the end
  double regret_estimate = 0;  // of the best estimate, without a measurement
  double regret_random = 0;    // expected of the best of as many runs, drawn at random
  // The number of measurements until a run within limits.regret of the fastest is measured.
  std::size_t needed = 0;           // in the order of the belief, with all of its measurements
  std::size_t needed_estimate = 0;  // in the order of the estimates
  double needed_random = 0;         // expected in random order
};
Replay replay(const std::vector<TuneCandidate>& candidates, const std::vector<double>& times,
              const TuneLimits& limits);

}  // namespace orch::tune
