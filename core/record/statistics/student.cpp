#include "core/record/statistics/student.h"

#include <cmath>

namespace orch::statistics {
namespace {

// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated
// by Lentz's method. It converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  const auto unless_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / unless_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 1000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / unless_zero(1 + even * d);
    c = unless_zero(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / unless_zero(1 + odd * d);
    c = unless_zero(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < kEnough) break;
  }
  return fraction;
}

// The regularised incomplete beta function.
double beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double upper_tail(double t, double degrees) {
  return beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
}

}  // namespace

double student_t(double probability, double degrees) {
  if (probability == 0.5) return 0;
  if (probability < 0.5) return -student_t(1 - probability, degrees);
  const double tail = 1 - probability;
  double low = 0, high = 1;
  while (upper_tail(high, degrees) > tail && high < 1e100) low = high, high *= 2;
  for (int i = 0; i < 100; ++i) {  // halves to the last bit
    const double middle = (low + high) / 2;
    (upper_tail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

}  // namespace orch::statistics
