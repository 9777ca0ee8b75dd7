#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace orch::compare {

struct CurvePoint {
  double x = 0, y = 0;
};

// A noisy curve over 0 to 1, smoothed by local linear regression: the value at x is that of the
// line fitted to the points in a window around x.
class Curve {
 public:
  // The points are sorted by x; a fit uses those at most `window` from its place.
  Curve(std::vector<CurvePoint> points, double window);

  struct Fit {
    double value = 0;
    double error = 0;  // standard error
  };
  std::optional<Fit> smooth(double x) const;  // empty if there are too few points
  double interpolated(double x) const;        // linear between the two neighbouring points

 private:
  struct Line {
    std::size_t n = 0;
    double value = 0;
    double leverage = 1;  // variance of the value over the variance of a point
  };
  Line line(double x) const;
  void measure_noise();

  std::vector<CurvePoint> points_;
  double window_;
  std::vector<double> x_, y_, xx_, xy_;  // prefix sums: a fit needs no loop over points
  std::optional<double> noise_;          // deviation of a point, increased if residuals correlate
};

}  // namespace orch::compare
