#include "core/plan/estimate_json.h"

#include "core/base/json_writer.h"

namespace orch::plan {
namespace {

constexpr int kEstimateVersion = 1;

void write(JsonWriter& to, const Stretch& stretch) {
  to.begin()
      .field("first_batch", stretch.first_batch)
      .field("last_batch", stretch.last_batch)
      .field("samples", stretch.samples)
      .field("tokens", stretch.tokens)
      .field("data_parallel", stretch.data_parallel)
      .field("nodes", stretch.nodes)
      .field("gpus", stretch.gpus)
      .field("first_step_seconds", stretch.first_step_seconds)
      .field("last_step_seconds", stretch.last_step_seconds)
      .field("tflops_per_gpu", stretch.tflops_per_gpu)
      .field("seconds", stretch.seconds)
      .field("gpu_hours", stretch.gpu_hours)
      .end();
}

}  // namespace

std::string estimate_json(const Run& run, const Estimate& estimate) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{kEstimateVersion})
      .field("variant", variant(run))
      .field("fit", name(estimate.fit))
      .field("peak_memory_bytes", estimate.peak_memory)
      .field("memory_low", estimate.memory_low)
      .field("memory_high", estimate.memory_high)
      .field("usable_memory_bytes", estimate.usable_memory)
      .field("host_memory_bytes", estimate.host_memory)
      .field("step_seconds", estimate.step_seconds)
      .field("step_low", estimate.step_low)
      .field("step_high", estimate.step_high)
      .field("tflops_per_gpu", estimate.tflops_per_gpu)
      .field("tflops_per_gpu_simple", estimate.tflops_per_gpu_simple)
      .field("mfu", estimate.mfu)
      .field("tokens_per_second", estimate.tokens_per_second)
      .field("days_per_100b_tokens", estimate.days_per_100b_tokens)
      .field("days_to_train", estimate.days_to_train)
      .field("gpu_hours", estimate.gpu_hours)
      .field("communicated_bytes", estimate.communicated)
      .field("bubble", estimate.bubble);
  if (!estimate.stack.empty()) to.field("priced_as", estimate.stack);
  if (!estimate.remarks.empty()) {
    to.begin_list("remarks");
    for (const auto& remark : estimate.remarks) to.item(remark);
    to.end_list();
  }
  to.begin_list("schedule");
  for (const auto& stretch : estimate.schedule) write(to, stretch);
  to.end_list();
  return std::move(to.end()).text();
}

}  // namespace orch::plan
