#include "core/run/follow/turns.h"

#include <algorithm>

namespace orch::follow {

std::vector<Turn> deal_turns(const std::vector<std::size_t>& sizes, int limit) {
  std::vector<Turn> turns(sizes.size());
  const auto lanes = static_cast<std::size_t>(limit);
  for (std::size_t i = 0; i < sizes.size(); ++i) turns[i].lane = i % lanes;
  // What is left goes, one by one, to whoever has the most tasks for each of its share.
  for (auto left = lanes - std::min(lanes, sizes.size()); left > 0; --left) {
    std::size_t best = sizes.size();
    const auto load = [&](std::size_t i) {
      return static_cast<double>(sizes[i]) / static_cast<double>(turns[i].at_a_time);
    };
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (load(i) > 1 && (best == sizes.size() || load(i) > load(best))) best = i;
    if (best == sizes.size()) break;
    ++turns[best].at_a_time;
  }
  return turns;
}

}  // namespace orch::follow
