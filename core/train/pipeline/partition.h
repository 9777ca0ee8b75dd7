#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace orch::pipeline {

// Assigns items to pipeline stages: the layers, and with count_embeddings the embedding and the
// head as one each. Balanced: the first stages have one more than the others if they cannot be
// equal: 78 layers on 12 stages are seven on six and six on six. Otherwise each stage takes an
// equal portion, rounded up, until none is left, as DeepSpeed did before 0.12.5: seven on each and
// one on the last. Or as listed.
struct StagePartition {
  std::int64_t layers = 0;
  std::int64_t stages = 1;
  bool count_embeddings = false;
  bool balanced = true;
  std::vector<std::int64_t> listed = {};  // layers of each stage; empty: distributed by the rule

  std::int64_t items() const { return layers + (count_embeddings ? 2 : 0); }
  std::int64_t portion() const { return (items() + stages - 1) / stages; }  // of the other rule
  std::int64_t largest() const;
  std::int64_t items_on(std::int64_t stage) const {
    if (balanced) return items() / stages + (stage < items() % stages ? 1 : 0);
    return std::clamp<std::int64_t>(items() - stage * portion(), 0, portion());
  }
  std::int64_t layers_on(std::int64_t stage) const {
    if (!listed.empty())
      return stage < static_cast<std::int64_t>(listed.size())
                 ? listed[static_cast<std::size_t>(stage)]
                 : 0;
    std::int64_t ends = 0;
    if (count_embeddings) ends = (stage == 0 ? 1 : 0) + (stage == stages - 1 ? 1 : 0);
    return std::max<std::int64_t>(items_on(stage) - ends, 0);
  }

  // The share of time lost to the largest stage, compared with equal stages.
  double loss() const;
};

// nanotron's rule: a stage takes the next items until their cost exceeds its share. The head costs
// as much as that number of layers.
std::vector<std::int64_t> dealt_by_cost(std::int64_t layers, std::int64_t stages, double head);

// The layers of each of stages * chunks chunks, in the order in which a micro-batch passes them
// (chunk c of stage s is c * stages + s), if the items are not divisible: chunks differ by at most
// one, stages too, and the first chunk, which has the embedding, and the last one, which has the
// head, are among the smaller ones. Counted embeddings take a layer's place there. Megatron Core
// accepts such a layout as a list.
std::vector<std::int64_t> uneven_chunks(const StagePartition& partition, std::int64_t chunks);

// "7,7,6"; empty if the text is not such a list.
std::vector<std::int64_t> parse_layers(std::string_view text);

}  // namespace orch::pipeline
