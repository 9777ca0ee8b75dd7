#include "core/show/compare/curve.h"

#include <algorithm>
#include <cmath>

#include "core/record/statistics/interval.h"

namespace orch::compare {
namespace {

constexpr std::size_t kFewest = 4;            // points that a fit needs
constexpr std::size_t kEnoughResiduals = 12;  // residuals that an estimate of the noise needs

std::vector<double> sums(const std::vector<CurvePoint>& points, double (*of)(const CurvePoint&)) {
  std::vector<double> out(points.size() + 1, 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) out[i + 1] = out[i] + of(points[i]);
  return out;
}

// Autocorrelation of neighbouring residuals, 0 if it is not significant. Clamping limits the
// influence of outliers.
double likeness(std::vector<double> residuals, double sigma) {
  double products = 0, squares = 0;
  for (auto& r : residuals) r = std::clamp(r, -3 * sigma, 3 * sigma);
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  const double r = squares > 0 ? products / squares : 0;
  return r > 1 / std::sqrt(static_cast<double>(residuals.size())) ? std::min(r, 0.99) : 0;
}

}  // namespace

Curve::Curve(std::vector<CurvePoint> points, double window)
    : points_(std::move(points)), window_(window) {
  x_ = sums(points_, [](const CurvePoint& p) { return p.x; });
  y_ = sums(points_, [](const CurvePoint& p) { return p.y; });
  xx_ = sums(points_, [](const CurvePoint& p) { return p.x * p.x; });
  xy_ = sums(points_, [](const CurvePoint& p) { return p.x * p.y; });
  measure_noise();
}

Curve::Line Curve::line(double x) const {
  const auto before = [](const CurvePoint& p, double at) { return p.x < at; };
  const auto after = [](double at, const CurvePoint& p) { return at < p.x; };
  const auto first = static_cast<std::size_t>(
      std::lower_bound(points_.begin(), points_.end(), x - window_, before) - points_.begin());
  const auto last = static_cast<std::size_t>(
      std::upper_bound(points_.begin(), points_.end(), x + window_, after) - points_.begin());
  Line out;
  out.n = last > first ? last - first : 0;
  if (out.n < kFewest) return out;
  const auto n = static_cast<double>(out.n);
  const double mean_x = (x_[last] - x_[first]) / n, mean_y = (y_[last] - y_[first]) / n;
  const double squares = (xx_[last] - xx_[first]) - n * mean_x * mean_x;
  const double products = (xy_[last] - xy_[first]) - n * mean_x * mean_y;
  const double slope = squares > 1e-12 ? products / squares : 0;
  out.value = mean_y + slope * (x - mean_x);
  out.leverage = 1 / n + (squares > 1e-12 ? (x - mean_x) * (x - mean_x) / squares : 0);
  return out;
}

double Curve::interpolated(double x) const {
  const auto after = std::lower_bound(points_.begin(), points_.end(), x,
                                      [](const CurvePoint& p, double at) { return p.x < at; });
  if (after == points_.begin()) return points_.front().y;
  if (after == points_.end()) return points_.back().y;
  const auto& a = *(after - 1);
  return a.y + (after->y - a.y) * (x - a.x) / (after->x - a.x);
}

// Estimates the noise from the residuals of the fits. A point attracts its own line, so residuals
// are divided by sqrt(1 - leverage). The noise increases if residuals correlate, since averages
// over correlated points are less precise.
void Curve::measure_noise() {
  std::vector<double> residuals;
  for (const auto& point : points_) {
    const auto fitted = line(point.x);
    if (fitted.n < kFewest || fitted.leverage > 0.8) continue;
    residuals.push_back((point.y - fitted.value) / std::sqrt(1 - fitted.leverage));
  }
  if (residuals.size() < kEnoughResiduals) return;
  const double sigma = statistics::spread(residuals);
  const double alike = likeness(std::move(residuals), sigma);
  noise_ = sigma * std::sqrt((1 + alike) / (1 - alike));
}

std::optional<Curve::Fit> Curve::smooth(double x) const {
  const auto fitted = line(x);
  if (fitted.n < kFewest || !noise_) return std::nullopt;
  return Fit{fitted.value, *noise_ * std::sqrt(fitted.leverage)};
}

}  // namespace orch::compare
