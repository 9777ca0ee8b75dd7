#pragma once

namespace orch::statistics {

// What is known about the rate of random events (a Poisson process): a Gamma distribution, as if
// `count` events had been observed in `exposure`. Both are positive.
struct GammaRate {
  double count = 0;
  double exposure = 0;

  double mean() const { return count / exposure; }
  double quantile(double probability) const;  // above 0 and below 1

  // The posterior after further events, of which there may be none.
  GammaRate after(double events, double more_exposure) const {
    return {count + events, exposure + more_exposure};
  }
};

}  // namespace orch::statistics
