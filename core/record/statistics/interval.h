#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/median.h"

namespace orch::statistics {

// A value that was measured n times, with its 95 % confidence interval. A single measurement has no
// limits.
struct Interval {
  double value = 0;
  std::optional<double> low, high;
  std::size_t n = 0;

  bool has_limits() const { return low && high; }
  Interval times(double factor) const;
  Interval inverse(double numerator) const;  // numerator / value; all must be positive
};

// The quantile of Student's t for a probability above 0 and below 1. Degrees of freedom are
// positive and may be fractional.
double student_t(double probability, double degrees);

double mean(const std::vector<double>& values);  // must not be empty
using orch::median;
// The q-quantile with linear interpolation between the two values around it.
double quantile(std::vector<double> values, double q);  // must not be empty
// The median absolute deviation times 1.4826, which is the standard deviation of normal values.
// Must not be empty.
double spread(const std::vector<double>& values);

// Ranks from 1; equal values share their mean rank.
std::vector<double> ranks(const std::vector<double>& values);

// The median of values in the order of measurement; values that are not finite are left out. From
// six on, the limits are order statistics (binomial, no assumption on the distribution); for two to
// five, Student's t around the median, and honestly wide: with the error of a median, not of a
// mean, and on logarithms if all values are positive, so that limits are positive too. Correlated
// neighbours count less: n is divided by (1 + r) / (1 - r), where r is the rank correlation of
// neighbours if it exceeds its own error, 1 / sqrt(n). If fewer than six are left, Student's t is
// used as well, but not beyond the least and the greatest value.
Interval median_interval(const std::vector<double>& values);

// For repeats, each already a median: the geometric mean and Student's t on the logarithms. Values
// that are not positive are left out.
Interval repeats_interval(const std::vector<double>& medians);

// a / b, with limits combined from both intervals in logarithms (MOVER). Without positive limits on
// either side there are none. Both values must be positive; n is the smaller one.
Interval ratio(const Interval& a, const Interval& b);

}  // namespace orch::statistics
