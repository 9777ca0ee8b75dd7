#pragma once

#include <cstdint>

namespace orch::megatron {

// Which layers each pipeline stage holds. The items (layers, and with count_embeddings the
// embedding and the head as one each) are dealt in equal portions, rounded up, until none is left:
// 78 layers on 12 stages are seven on each and one on the last, as DeepSpeed's balancing by type
// has it.
struct Partition {
  std::int64_t layers = 0;
  std::int64_t stages = 1;
  bool count_embeddings = false;

  std::int64_t items() const { return layers + (count_embeddings ? 2 : 0); }
  std::int64_t portion() const { return (items() + stages - 1) / stages; }
  std::int64_t items_on(std::int64_t stage) const;
  std::int64_t layers_on(std::int64_t stage) const;

  // The time lost to the largest stage, against stages that are all alike.
  double loss() const;
};

}  // namespace orch::megatron
