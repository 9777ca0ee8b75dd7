#include "backends/megatron/partition.h"

#include <algorithm>

namespace orch::megatron {

std::int64_t Partition::items_on(std::int64_t stage) const {
  if (balanced) return items() / stages + (stage < items() % stages ? 1 : 0);
  return std::clamp<std::int64_t>(items() - stage * portion(), 0, portion());
}

std::int64_t Partition::layers_on(std::int64_t stage) const {
  std::int64_t ends = 0;
  if (count_embeddings) ends = (stage == 0 ? 1 : 0) + (stage == stages - 1 ? 1 : 0);
  return std::max<std::int64_t>(items_on(stage) - ends, 0);
}

double Partition::loss() const {
  return static_cast<double>(portion() * stages) / static_cast<double>(items()) - 1;
}

}  // namespace orch::megatron
