#include "core/train/pipeline/partition.h"

#include <algorithm>
#include <charconv>

namespace orch::pipeline {

std::int64_t StagePartition::largest() const {
  return listed.empty() ? portion() : *std::max_element(listed.begin(), listed.end());
}

double StagePartition::loss() const {
  return static_cast<double>(largest() * stages) / static_cast<double>(items()) - 1;
}

std::vector<std::int64_t> dealt_by_cost(std::int64_t layers, std::int64_t stages, double head) {
  std::vector<std::int64_t> dealt(static_cast<std::size_t>(stages), 0);
  const double share = (static_cast<double>(layers) + head) / static_cast<double>(stages);
  std::int64_t stage = 0;
  for (std::int64_t done = 1; done <= layers; ++done) {
    ++dealt[static_cast<std::size_t>(stage)];
    if (static_cast<double>(done) > share * static_cast<double>(stage + 1))
      stage = std::min(stage + 1, stages - 1);
  }
  return dealt;
}

std::vector<std::int64_t> uneven_chunks(const StagePartition& partition, std::int64_t chunks) {
  const std::int64_t stages = partition.stages, places = stages * chunks, items = partition.items();
  std::vector<std::int64_t> layers(static_cast<std::size_t>(places), items / places);
  // One more to each stage in turn; the last two go to those of the embedding and of the head.
  for (std::int64_t more = 0; more < items % places; ++more) {
    const std::int64_t turn = more % stages, round = more / stages;
    const std::int64_t stage = turn < stages - 2 ? turn + 1 : turn == stages - 2 ? 0 : stages - 1;
    const std::int64_t chunk = stage == 0 ? chunks - 1 - round : round;
    ++layers[static_cast<std::size_t>(chunk * stages + stage)];
  }
  if (partition.count_embeddings) --layers.front(), --layers.back();
  return layers;
}

std::vector<std::int64_t> parse_layers(std::string_view text) {
  std::vector<std::int64_t> layers;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    std::int64_t count = 0;
    const auto [next, error] = std::from_chars(at, end, count);
    if (error != std::errc() || count < 0 || (next < end && (*next != ',' || next + 1 == end)))
      return {};
    layers.push_back(count);
    at = next + 1;
  }
  return layers;
}

}  // namespace orch::pipeline
