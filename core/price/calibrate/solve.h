#pragma once

#include <functional>
#include <vector>

namespace orch::calibrate {

using Vector = std::vector<double>;
using Rows = std::vector<std::size_t>;

// A least-squares problem whose residuals are in units of their own spread. Far outliers hardly
// count (Cauchy loss): a row that contradicts its own repeats must not bend the others.
struct Problem {
  std::size_t unknowns = 0;
  Vector doubt;    // of each unknown, whose best guess is 0
  Vector weights;  // of each residual
  Vector start;    // empty: 0
  // The residuals that each unknown moves; empty: all of them.
  std::vector<Rows> touched;
  // Fills the residuals of some rows at a point, in the order of the weights.
  std::function<void(const Vector& point, const Rows& rows, Vector& residuals)> residuals;
};

struct Solution {
  Vector point;
  // How much of each residual its own row decided, from 0 to 1; together, how many unknowns the
  // residuals decided, and not the doubts.
  Vector leverage;
};

// The point with the least sum of weight^2 * scale^2 * log(1 + (residual / scale)^2) and (unknown /
// doubt)^2. Levenberg-Marquardt from the start, with a scale that shrinks so that no outlier
// catches it early.
Solution solve(const Problem& problem, const Vector& scales = {8, 2, 1});

}  // namespace orch::calibrate
