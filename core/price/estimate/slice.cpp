#include "core/price/estimate/slice.h"

#include <algorithm>
#include <functional>

#include "core/train/pipeline/schedule.h"

namespace orch::estimate {
namespace {

bool is_talk(const backend::Op& op) {
  return op.data.kind == ORCH_COLLECTIVE || op.data.kind == ORCH_STAGE_OVERHEAD;
}

bool is_as_full(const pipeline::PipelineShape& some, const pipeline::PipelineShape& all) {
  for (std::int64_t stage = 0; stage < all.stages; ++stage)
    if (pipeline::in_flight(some, stage) != pipeline::in_flight(all, stage) ||
        pipeline::put_off(some, stage) != pipeline::put_off(all, stage))
      return false;
  return true;
}

}  // namespace

backend::Work slice_of(const backend::Work& work, std::int64_t stage) {
  auto slice = work;
  slice.stages = slice.chunks = 1;
  slice.filled = false;
  slice.ops.clear();
  for (auto& block : slice.blocks) {
    const auto first = work.ops.begin() + static_cast<std::ptrdiff_t>(block.first_op);
    const auto end = first + static_cast<std::ptrdiff_t>(block.n_ops);
    block.first_op = slice.ops.size();
    std::copy_if(first, end, std::back_inserter(slice.ops), std::not_fn(is_talk));
    block.n_ops = slice.ops.size() - block.first_op;
  }
  std::erase_if(slice.stage_list,
                [&](const auto& each) { return stage < each.first || stage > each.last; });
  for (auto& each : slice.stage_list) each.first = each.last = 0;
  std::erase_if(slice.memory, [&](const auto& item) {
    return stage < item.first || stage > item.last || item.place == ORCH_COMMUNICATORS;
  });
  for (auto& item : slice.memory) item.first = item.last = 0;
  return slice;
}

std::int64_t enough_micro_batches(const backend::Work& work) {
  const pipeline::PipelineShape all{work.stages, work.chunks, work.micro_batches, work.filled};
  auto some = all;
  some.micro_batches = std::min<std::int64_t>(2, all.micro_batches);
  while (some.micro_batches < all.micro_batches && !is_as_full(some, all)) ++some.micro_batches;
  return some.micro_batches;
}

}  // namespace orch::estimate
