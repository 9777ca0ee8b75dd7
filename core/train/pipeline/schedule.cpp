#include "core/train/pipeline/schedule.h"

#include <algorithm>

namespace orch::pipeline {
namespace {

std::vector<std::int64_t> groups_of(const PipelineShape& shape) {
  const auto count = group_count(shape);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), shape.micro_batches / count);
  for (std::int64_t i = 0; i < shape.micro_batches % count; ++i)
    ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

// Simulates a pipeline whose passes all take one unit of time, tick by tick. A stage runs a
// backward pass if a gradient has arrived, else a forward pass if 1F1B would be as far ahead, else
// a delayed weight-gradient pass; the latter come first if as many are delayed as there are stages.
// Fewer would leave stages idle, more would only use memory.
class BubbleFilling {
 public:
  explicit BubbleFilling(const PipelineShape& shape)
      : shape_(shape), stages_(static_cast<std::size_t>(shape.stages)) {}

  std::vector<Task> play(std::int64_t wanted) {
    const auto all = 3 * shape_.micro_batches;
    for (bool done = false; !done;) {
      done = true;
      const auto before = stages_;  // messages arrive in the next tick
      for (std::size_t p = 0; p < stages_.size(); ++p) {
        act(p, before);
        done = done && static_cast<std::int64_t>(stages_[p].tasks.size()) == all;
      }
    }
    return stages_[static_cast<std::size_t>(wanted)].tasks;
  }

 private:
  struct Stage {
    std::int64_t forwards = 0, backwards = 0, weights = 0;  // number of passes done
    std::vector<Task> tasks;
  };

  void act(std::size_t p, const std::vector<Stage>& before) {
    auto& stage = stages_[p];
    const bool last = p + 1 == stages_.size();
    const auto given = p == 0 ? shape_.micro_batches : before[p - 1].forwards;
    const auto returned = last ? before[p].forwards : before[p + 1].backwards;
    const auto room = static_cast<std::int64_t>(stages_.size() - p);
    const bool waits = stage.backwards - stage.weights >= shape_.stages;
    if (stage.backwards < returned)
      stage.tasks.push_back({PipelinePass::backward, 0, stage.backwards++});
    else if (!waits && stage.forwards < given && stage.forwards - stage.backwards < room)
      stage.tasks.push_back({PipelinePass::forward, 0, stage.forwards++});
    else if (stage.weights < stage.backwards)
      stage.tasks.push_back({PipelinePass::weights, 0, stage.weights++});
  }

  PipelineShape shape_;
  std::vector<Stage> stages_;
};

}  // namespace

// A group goes through chunk 0, then through chunk 1, …
std::vector<Task> forwards(const PipelineShape& shape) {
  std::vector<Task> order;
  std::int64_t first = 0;
  for (const auto size : groups_of(shape)) {
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk)
      for (auto micro = first; micro < first + size; ++micro)
        order.push_back({PipelinePass::forward, chunk, micro});
    first += size;
  }
  return order;
}

std::vector<Task> tasks(const PipelineShape& shape, std::int64_t stage) {
  if (shape.filled) return BubbleFilling(shape).play(stage);
  const auto order = forwards(shape);
  const auto backward = [&](std::size_t i) {
    return Task{PipelinePass::backward, shape.chunks - 1 - order[i].chunk, order[i].micro_batch};
  };
  const auto ahead = static_cast<std::size_t>(warm_up(shape, stage));
  std::vector<Task> list(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (auto i = ahead; i < order.size(); ++i) {
    list.push_back(order[i]);
    list.push_back(backward(i - ahead));
  }
  for (auto i = order.size() - ahead; i < order.size(); ++i) list.push_back(backward(i));
  return list;
}

std::int64_t put_off(const PipelineShape& shape, std::int64_t stage) {
  std::int64_t waiting = 0, most = 0;
  if (!shape.filled) return most;
  for (const auto& task : tasks(shape, stage)) {
    if (task.pass == PipelinePass::backward) most = std::max(most, ++waiting);
    if (task.pass == PipelinePass::weights) --waiting;
  }
  return most;
}

}  // namespace orch::pipeline
