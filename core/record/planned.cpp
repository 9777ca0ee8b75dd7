#include "core/record/planned.h"

#include <algorithm>

#include "core/plan/training.h"
#include "core/plan/vocabulary.h"

namespace orch::record {
namespace {

// Strategies have their own words for it.
std::string field_name(const std::string& param) { return param == "stage" ? "zero_stage" : param; }

std::string group_of(const plan::Item& item) {
  if (item.name.find("optimizer") != std::string::npos) return "optimizer";
  if (item.kind == "bubble") return "bubble";
  if (item.kind == "collective" || item.kind == "copy") return "communication";
  return item.kind == "gemm" || item.kind == "memory" ? "compute" : "other";
}

bool is_empty(const plan::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && text->empty();
}

}  // namespace

std::vector<Field> fields_of(const plan::Run& run, bool training) {
  Record out;
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    out.set(field_name(run.strategy->params[i].name),
            plan::is_given(run.settings[i]) ? run.settings[i] : plan::Value("none"));
  if (run.strategy->name == "ddp") out.set("zero_stage", std::int64_t{0});  // it shards nothing
  for (const auto& term : plan::vocabulary()) {
    if (term.planned || !term.read) continue;
    if (const auto value = term.read(run); !is_empty(value)) out.set(term.name, value);
  }
  if (!training) return out.fields;
  for (const auto& field : plan::training_fields())
    out.set(field.param.name,
            std::visit([&](auto member) { return plan::Value(run.training.*member); },
                       field.member));
  return out.fields;
}

Estimated estimated_of(const plan::Estimate& estimate, double era) {
  Estimated out;
  out.fit = name(estimate.fit);
  out.step_seconds = estimate.step_seconds * era;
  out.step_low = estimate.step_low * era;
  out.step_high = estimate.step_high * era;
  out.peak_memory_bytes = estimate.peak_memory;
  out.memory_low = estimate.memory_low;
  out.memory_high = estimate.memory_high;
  out.usable_memory_bytes = estimate.usable_memory;
  out.tokens_per_second = estimate.tokens_per_second / era;
  out.days_per_100b_tokens = estimate.days_per_100b_tokens * era;
  out.tflops_per_gpu = estimate.tflops_per_gpu / era;
  out.tflops_per_gpu_simple = estimate.tflops_per_gpu_simple / era;
  out.mfu = estimate.mfu / era;
  out.gpu_hours = estimate.gpu_hours * era;
  out.days_to_train = estimate.days_to_train * era;
  out.host_memory_bytes = estimate.host_memory;
  out.communicated_bytes = estimate.communicated;
  out.bubble = estimate.bubble;
  for (const auto& item : estimate.time)
    out.time_items.push_back({item.name, group_of(item), item.amount * era});
  return out;
}

Record planned_record(const plan::Planned& planned, const std::string& experiment_file) {
  Record out;
  out.id = planned.run.id;
  out.source = planned.run.experiment;
  out.fields = fields_of(planned.run, false);
  out.estimated = estimated_of(planned.estimate);
  out.origin.kind = "plan";
  out.origin.experiment = planned.run.experiment;
  out.origin.experiment_file = experiment_file;
  return out;
}

Quantity::Value estimated(const Quantity& quantity, const plan::Planned& planned) {
  return estimated(quantity, estimated_of(planned.estimate));
}

}  // namespace orch::record
