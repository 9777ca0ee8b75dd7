#include "backends/runtime/step/meter.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace orch::train {

using Clock = std::chrono::steady_clock;

Launched Meter::all_reduce(Group& group, const at::Tensor& tensor) {
  stats_.bytes += tensor.nbytes();
  const auto now = Clock::now();
  return {group.all_reduce(tensor), now};
}

Launched Meter::reduce_scatter(Group& group, const at::Tensor& out, const at::Tensor& in) {
  stats_.bytes += in.nbytes();
  const auto now = Clock::now();
  return {group.reduce_scatter(out, in), now};
}

void Meter::wait(Launched& launched) {
  const auto began = Clock::now();
  launched.pending.wait();
  const auto ended = launched.pending.ended();
  if (!ended) return;
  stats_.waited_seconds += std::chrono::duration<double>(Clock::now() - began).count();
  under_way_.emplace_back(launched.at, *ended);
}

// The length of the union of all spans.
void Meter::end_step() {
  std::sort(under_way_.begin(), under_way_.end());
  Time covered{};
  for (const auto& [begin, end] : under_way_) {
    const auto from = std::max(begin, covered);
    if (end > from) stats_.collective_seconds += std::chrono::duration<double>(end - from).count();
    covered = std::max(covered, end);
  }
  under_way_.clear();
}

}  // namespace orch::train
