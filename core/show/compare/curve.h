#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace orch::compare {

struct CurvePoint {
  double x = 0, y = 0;
};

// A noisy curve over 0 to 1 that can be looked at smoothly: at each place, the line that fits best
// through the points around it.
class Curve {
 public:
  // In the order of x; the window is how far to both sides points count.
  Curve(std::vector<CurvePoint> points, double window);

  struct Fit {
    double value = 0;
    double error = 0;  // standard
  };
  std::optional<Fit> smooth(double x) const;  // nothing: too few points
  double interpolated(double x) const;        // between the two points around, as they are

 private:
  struct Line {
    std::size_t n = 0;
    double value = 0;
    double leverage = 1;  // the variance of the value in that of a point
  };
  Line line(double x) const;
  void measure_noise();

  std::vector<CurvePoint> points_;
  double window_;
  std::vector<double> x_, y_, xx_, xy_;  // sums up to each point, so that a fit takes no loop
  std::optional<double> noise_;          // of a point, more where neighbours are alike
};

}  // namespace orch::compare
