#pragma once

#include <functional>
#include <vector>

namespace orch::fit {

// A least-squares problem whose residuals are in units of their own spread. Far outliers hardly
// count (Cauchy loss): a row that contradicts its own repeats must not bend the others.
struct Problem {
  std::size_t unknowns = 0;
  std::vector<double> doubt;    // of each unknown, whose best guess is 0
  std::vector<double> weights;  // of each residual
  // Residuals at a point, in the order of the weights.
  std::function<void(const std::vector<double>& point, std::vector<double>& residuals)> residuals;
};

struct Solution {
  std::vector<double> point;
  double decided = 0;  // how many unknowns the residuals decided, and not the doubts
};

// The point with the least sum of weight^2 * scale^2 * log(1 + (residual / scale)^2) and (unknown /
// doubt)^2. Levenberg-Marquardt from 0, with a scale that shrinks so that no outlier catches it
// early.
Solution solve(const Problem& problem);

}  // namespace orch::fit
