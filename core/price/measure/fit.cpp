#include "core/price/measure/fit.h"

#include <algorithm>
#include <bit>

namespace orch::measure {

Line fit_line(std::span<const Point> points) {
  // Weights 1 / seconds^2 make the errors relative.
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    w += weight, wx += weight * x, wxx += weight * x * x;
    wy += weight * y, wxy += weight * x * y;
  }
  const Line through_zero{0, wxx > 0 ? wxy / wxx : 0};
  const double determinant = w * wxx - wx * wx;
  if (points.size() < 2 || determinant <= 1e-12 * w * wxx) return through_zero;
  const Line line{(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant};
  if (line.fixed < 0) return through_zero;
  if (line.per_unit < 0) return {wy / w, 0};
  return line;
}

RingFit fit_all_reduce(std::span<const Point> points, std::int64_t ranks) {
  const auto line = fit_line(points);
  const auto n = static_cast<double>(ranks);
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
  return {line.fixed / (2 * levels), 2 * (n - 1) / n / line.per_unit};
}

double best_rate(std::span<const Product> products) {
  double best = 0;
  for (const auto& product : products) best = std::max(best, product.flops() / product.seconds);
  return best;
}

}  // namespace orch::measure
