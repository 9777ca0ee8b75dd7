#include "core/record/planned.h"

#include <algorithm>

#include "core/plan/training.h"
#include "core/plan/vocabulary.h"

namespace orch::record {
namespace {

// The vocabulary's name of a strategy's parameter.
std::string field_name(const std::string& param) { return param == "stage" ? "zero_stage" : param; }

std::string group_of(const plan::EstimateItem& item) {
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

std::vector<RecordField> fields_of(const plan::Run& run, bool training) {
  Record out;
  out.fields.reserve(run.settings.size() + plan::vocabulary().size());
  for (std::size_t i = 0; i < run.settings.size(); ++i)
    out.set(field_name(run.strategy->params[i].name),
            plan::is_given(run.settings[i]) ? run.settings[i] : plan::Value("none"));
  if (run.strategy->name == "ddp") out.set("zero_stage", std::int64_t{0});  // DDP shards nothing
  for (const auto& term : plan::vocabulary()) {
    if (term.planned || !term.read) continue;
    if (const auto value = term.read(run); plan::is_given(value) && !is_empty(value))
      out.set(term.name, value);
  }
  if (!training) return std::move(out.fields);
  for (const auto& field : plan::training_fields())
    out.set(
        field.param.name,
        std::visit([&](auto member) { return plan::Value(run.training.*member); }, field.member));
  return std::move(out.fields);
}

plan::Estimate estimated_of(plan::Estimate estimate, double era) {
  auto& e = estimate;
  for (double* time :
       {&e.step_seconds, &e.step_low, &e.step_high, &e.days_per_100b_tokens, &e.gpu_hours,
        &e.days_to_train, &e.interruptions, &e.days_with_failures, &e.days_with_failures_low,
        &e.days_with_failures_high, &e.cost, &e.energy_kwh, &e.co2_kg})
    *time *= era;
  for (double* rate : {&e.tokens_per_second, &e.tflops_per_gpu, &e.tflops_per_gpu_simple, &e.mfu})
    *rate /= era;
  for (auto& item : e.time) {
    item.kind = group_of(item);
    item.amount *= era;
  }
  return estimate;
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

}  // namespace orch::record
