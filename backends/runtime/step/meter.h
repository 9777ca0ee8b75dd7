#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/runtime/comm/comm.h"

namespace orch::train {

// How well communication hides behind backward. Over NCCL nothing is measured but bytes: there the
// host neither waits nor knows when a collective ends.
struct ReducerStats {
  double collective_seconds = 0;  // at least one was under way
  double waited_seconds = 0;      // for lack of anything else to do
  std::uint64_t bytes = 0;        // given to collectives

  // The share of communication that cost no time.
  double overlap() const {
    return collective_seconds > 0 ? 1 - waited_seconds / collective_seconds : 1;
  }
};

struct Launched {
  Pending pending;
  std::chrono::steady_clock::time_point at;
};

// Launches collectives, waits for them, and measures both.
class Meter {
 public:
  Launched all_reduce(Group& group, const at::Tensor& tensor);
  Launched reduce_scatter(Group& group, const at::Tensor& out, const at::Tensor& in);
  void wait(Launched& launched);  // throws CommError
  void end_step();                // all have been waited for
  const ReducerStats& stats() const { return stats_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  ReducerStats stats_;
  std::vector<std::pair<Time, Time>> under_way_;  // of this step
};

}  // namespace orch::train
