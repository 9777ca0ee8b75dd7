#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace orch::record {

// Thins a curve to about `most` points: of each stretch the lowest and the highest, so that no
// spike is lost, and the last point.
template <class Point>
std::vector<Point> thinned(const std::vector<Point>& points, double Point::*value,
                           std::size_t most) {
  if (points.size() <= most) return points;
  const auto stretch = (2 * points.size() + most - 1) / most;
  std::vector<Point> out;
  const auto less = [value](const Point& a, const Point& b) { return a.*value < b.*value; };
  for (std::size_t i = 0; i < points.size(); i += stretch) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>(std::min(i + stretch, points.size()));
    const auto [low, high] = std::minmax_element(begin, end, less);
    out.push_back(*std::min(low, high));
    if (low != high) out.push_back(*std::max(low, high));
  }
  if (out.back().step != points.back().step) out.push_back(points.back());
  return out;
}

}  // namespace orch::record
