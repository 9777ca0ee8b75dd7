#pragma once

#include <functional>
#include <vector>

namespace orch::calibrate {

using Vector = std::vector<double>;
using RowNumbers = std::vector<std::size_t>;

// A least-squares problem whose residuals are in units of their own spread. Far outliers hardly
// count (Cauchy loss): a row that contradicts its own repeats must not distort the others.
struct Problem {
  std::size_t unknowns = 0;
  Vector doubt;    // standard deviation of each unknown, whose prior mean is 0
  Vector weights;  // one per residual
  Vector start;    // empty: all 0
  // The residuals that each unknown affects; empty: all of them.
  std::vector<RowNumbers> touched;
  // Computes the residuals of some rows at a point, in the order of the weights.
  std::function<void(const Vector& point, const RowNumbers& rows, Vector& residuals)> residuals;
};

struct Solution {
  Vector point;
  // How much each residual is determined by its own row, from 0 to 1; the sum is the number of
  // unknowns that rows rather than doubts determine.
  Vector leverage;
};

// Finds the point with the least sum of weight^2 * scale^2 * log(1 + (residual / scale)^2) and
// (unknown / doubt)^2. Levenberg-Marquardt from the start, with decreasing scales, so that an early
// outlier does not trap it.
Solution solve(const Problem& problem, const Vector& scales = {8, 2, 1});

}  // namespace orch::calibrate
