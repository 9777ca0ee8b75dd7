#include "backends/megatron/partition.h"

#include <algorithm>

namespace orch::megatron {

std::int64_t Partition::items_on(std::int64_t stage) const {
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

std::int64_t in_flight(std::int64_t stage, std::int64_t stages, std::int64_t chunks,
                       std::int64_t micro_batches) {
  const std::int64_t behind = stages - stage - 1;
  const std::int64_t ahead = chunks == 1 ? behind : 2 * behind + (chunks - 1) * stages;
  return std::min(ahead + 1, micro_batches * chunks);
}

}  // namespace orch::megatron
