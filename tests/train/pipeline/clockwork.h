#pragma once

// Simulates a pipeline's lists of tasks with a clock.

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/train/pipeline/schedule.h"

namespace orch::pipeline {

// Seconds of one pass of one chunk of a stage.
struct Durations {
  double forward = 1;
  double backward = 2;  // with filled bubbles: without the weight gradients
  double weights = 0;
};

inline constexpr double kNotYet = std::numeric_limits<double>::infinity();

// When each pass of each virtual stage ends.
class Clockwork {
 public:
  Clockwork(const PipelineShape& shape, const std::vector<Durations>& by_stage)
      : shape_(shape), by_stage_(by_stage), virtual_(shape.stages * shape.chunks) {
    const auto count = static_cast<std::size_t>(virtual_ * shape.micro_batches);
    forward_.assign(count, kNotYet);
    backward_.assign(count, kNotYet);
    for (std::int64_t p = 0; p < shape.stages; ++p) lists_.push_back(tasks(shape, p));
  }

  double run() {
    std::vector<std::size_t> at(lists_.size());
    std::vector<double> free(lists_.size());
    std::size_t left = 0;
    for (const auto& list : lists_) left += list.size();
    while (left > 0) {
      const auto before = left;
      for (std::size_t p = 0; p < lists_.size(); ++p)
        for (; at[p] < lists_[p].size(); ++at[p], --left) {
          const auto begin = std::max(free[p], ready(p, lists_[p][at[p]]));
          if (begin == kNotYet) break;
          free[p] = begin + finish(p, lists_[p][at[p]], begin);
        }
      if (left == before) throw std::logic_error("a pipeline whose stages wait for each other");
    }
    return *std::max_element(free.begin(), free.end());
  }

 private:
  std::int64_t place(std::size_t p, const Task& task) const {
    return task.chunk * shape_.stages + static_cast<std::int64_t>(p);
  }
  double& at(std::vector<double>& times, std::int64_t place, const Task& task) {
    return times[static_cast<std::size_t>(place * shape_.micro_batches + task.micro_batch)];
  }

  double ready(std::size_t p, const Task& task) {
    const auto here = place(p, task);
    if (task.pass == PipelinePass::forward) return here == 0 ? 0 : at(forward_, here - 1, task);
    if (task.pass == PipelinePass::weights) return at(backward_, here, task);
    return here + 1 == virtual_ ? at(forward_, here, task) : at(backward_, here + 1, task);
  }

  double finish(std::size_t p, const Task& task, double begin) {
    const auto& take = by_stage_[p];
    if (task.pass == PipelinePass::weights) return take.weights;
    const double seconds = task.pass == PipelinePass::forward ? take.forward : take.backward;
    at(task.pass == PipelinePass::forward ? forward_ : backward_, place(p, task), task) =
        begin + seconds;
    return seconds;
  }

  const PipelineShape shape_;
  const std::vector<Durations>& by_stage_;
  const std::int64_t virtual_;
  std::vector<std::vector<Task>> lists_;
  std::vector<double> forward_, backward_;  // by virtual stage, then micro-batch
};

// The duration of a step if stages wait only for each other. Throws std::logic_error for a
// deadlock.
inline double step_seconds(const PipelineShape& shape, const std::vector<Durations>& by_stage) {
  return Clockwork(shape, by_stage).run();
}

}  // namespace orch::pipeline
