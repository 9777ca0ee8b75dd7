#include "core/plan/estimate_json.h"

#include "core/base/json_writer.h"

namespace orch::plan {
namespace {

constexpr int kEstimateVersion = 1;

void write(JsonWriter& to, const TrainingStretch& stretch) {
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
      .field("fit", name(estimate.fit));
  for (const auto& [name, member] : kEstimateNumbers) to.field(name, estimate.*member);
  if (!estimate.currency.empty()) to.field("currency", estimate.currency);
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

Estimate parse_estimate(JsonFields& fields) {
  Estimate out;
  const auto fit = parse_fit(fields.text("fit"));
  if (!fit) fields.complain("'fit' is invalid");
  out.fit = fit.value_or(MemoryFit::fits);
  for (const auto& [name, member] : kEstimateNumbers) out.*member = fields.number_or(name, 0);
  out.currency = fields.text_or("currency", "");
  for (const auto* name : {"step_seconds", "tokens_per_second", "peak_memory_bytes", "gpu_hours"})
    fields.number(name);  // required fields of an estimate
  return out;
}

}  // namespace orch::plan
