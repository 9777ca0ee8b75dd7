#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace orch::pipeline {

// The passes of a micro-batch through one of a stage's chunks.
enum class PipelinePass { forward, backward, weights };  // weights: their gradients, if delayed

struct Task {
  PipelinePass pass = PipelinePass::forward;
  std::int64_t chunk = 0;
  std::int64_t micro_batch = 0;

  bool operator==(const Task&) const = default;
};

// The shape of a pipeline. Stage p has the virtual stages p, p + stages, p + 2 stages, …, one per
// chunk.
struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;         // more than one: interleaved
  std::int64_t micro_batches = 1;  // any number
  bool filled = false;             // bubbles are filled with weight gradients; needs chunks = 1
};

// The passes of a stage in one step, in order: one forward, one backward after a warm-up (1F1B), or
// interleaved (Narayanan et al. 2021), or with split backward passes, whose weight gradients wait
// until nothing else can be done (Qi et al. 2023, ZB-H1). Every stage sends in the order in which
// its neighbour receives, in both directions.
std::vector<Task> tasks(const PipelineShape& shape, std::int64_t stage);

// Forward passes in the order of tasks(), without backward passes: for evaluation.
std::vector<Task> forwards(const PipelineShape& shape);

// Micro-batches go through the chunks in groups: as many in each as there are stages, or a few more
// if the number is not divisible. With a smaller last group some stages would wait for others.
inline std::int64_t group_count(const PipelineShape& shape) {
  return std::max<std::int64_t>(shape.micro_batches / shape.stages, 1);
}

// The number of forward passes of a stage before its first backward pass, less one.
inline std::int64_t warm_up(const PipelineShape& shape, std::int64_t stage) {
  const auto behind = shape.stages - stage - 1;
  if (shape.chunks == 1) return std::min(behind, shape.micro_batches);
  const auto groups = group_count(shape);
  const auto first = (shape.micro_batches + groups - 1) / groups;
  return std::min(2 * behind + (shape.chunks - 1) * first, shape.chunks * shape.micro_batches);
}

// The largest number of forward passes, over all chunks of a stage, that wait for their backward
// pass: one more than the warm-up, unless that was all of them; the list of tasks is not needed.
// Pipelines with filled bubbles hold as much as 1F1B.
inline std::int64_t in_flight(const PipelineShape& shape, std::int64_t stage) {
  return std::min(warm_up(shape, stage) + 1, shape.chunks * shape.micro_batches);
}

// The largest number of delayed weight gradients, if they fill bubbles: at most the number of
// stages.
std::int64_t put_off(const PipelineShape& shape, std::int64_t stage);

}  // namespace orch::pipeline
