#include "backends/zero3/units.h"

#include <stdexcept>

#include "backends/runtime/model/stage.h"

namespace orch::zero3 {

using namespace train;

std::vector<BucketRange> units_of(const ParameterLayout& layout, std::int64_t layers) {
  const auto& all = layout.all;
  std::vector<BucketRange> units;
  for (std::size_t first = 0; first < all.size();) {
    const auto layer = layer_of(all[first].spec.name, layers);
    auto end = first + 1;
    while (end < all.size() && layer_of(all[end].spec.name, layers) == layer) ++end;
    const auto last = end < all.size() ? all[end].offset : layout.elements;
    if (unit_of(layer, layers) != units.size()) throw std::logic_error("units out of order");
    units.push_back({first, end, {all[first].offset, last}});
    first = end;
  }
  return units;
}

}  // namespace orch::zero3
