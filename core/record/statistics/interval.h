#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace orch::statistics {

// A value that was measured n times, with the limits between which its true value lies with 95 %
// confidence. One measurement has no limits.
struct Interval {
  double value = 0;
  std::optional<double> low, high;
  std::size_t n = 0;

  bool has_limits() const { return low && high; }
  Interval times(double factor) const;
  Interval inverse(double numerator) const;  // numerator / value; all are positive
};

// The value below which Student's t lies with a probability of more than 0 and less than 1.
// Degrees of freedom are positive and need not be whole.
double student_t(double probability, double degrees);

double mean(const std::vector<double>& values);  // not empty
double median(std::vector<double> values);       // not empty
// The q-quantile with linear interpolation between the two values around it.
double quantile(std::vector<double> values, double q);  // not empty
// The median absolute deviation, times 1.4826: the standard deviation where values are normal. Not
// empty.
double spread(const std::vector<double>& values);

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values);

// The median of values in the order in which they were measured; those that are not finite are left
// out. From six on, the limits are order statistics (binomial, no assumption on the distribution);
// of two to five, Student's t around the median, and honestly wide: with the error of a median, not
// of a mean, and on logarithms where all values are positive, so that limits are positive too.
// Neighbours that are alike count for less: n is divided by (1 + r) / (1 - r), r being the
// correlation of neighbours by rank where it is greater than its own error, 1 / sqrt(n). Fewer than
// six that are left get Student's t as well, but not beyond the least and the greatest value.
Interval median_interval(const std::vector<double>& values);

// Of repeats, each already a median: the geometric mean and Student's t on the logarithms. Values
// that are not positive are left out.
Interval repeats_interval(const std::vector<double>& medians);

// a / b, the limits by combining both intervals in logarithms (MOVER). Without positive limits on
// either side there are none. Both values are positive; n is the smaller one.
Interval ratio(const Interval& a, const Interval& b);

}  // namespace orch::statistics
