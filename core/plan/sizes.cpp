#include "core/plan/sizes.h"

#include <algorithm>
#include <numeric>

namespace orch::plan {

std::vector<std::size_t> size_classes(const std::vector<double>& params) {
  constexpr double kSame = 1.1;
  std::vector<std::size_t> order(params.size()), classes(params.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return params[a] < params[b]; });
  std::size_t current = 0;
  double smallest = order.empty() ? 0 : params[order.front()];
  for (const auto i : order) {
    if (params[i] > kSame * smallest) {
      ++current;
      smallest = params[i];
    }
    classes[i] = current;
  }
  return classes;
}

}  // namespace orch::plan
