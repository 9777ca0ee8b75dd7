#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/report/report.h"

namespace orch::report {
namespace {

using Json = nlohmann::ordered_json;

Json errors_json(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const auto& error : errors)
    list.push_back({{"place", error.place}, {"fact", error.fact}, {"fix", error.fix}});
  return list;
}

// Parameters and bytes come in wholes.
std::int64_t whole(double amount) { return std::llround(amount); }

Json run_json(const plan::Planned& p) {
  const auto& r = p.run;
  const auto& e = p.estimate;
  Json json{{"id", p.id},
            {"strategy", r.strategy->name},
            {"variant", plan::variant(r)},
            {"backend", r.strategy->backend},
            {"model", r.model.name},
            {"params", whole(r.model.params())},
            {"seq", r.model.seq},
            {"tokens", r.tokens},
            {"cluster", r.cluster->name},
            {"partition", r.partition->name},
            {"gpus", r.gpus},
            {"nodes", r.nodes},
            {"tensor_parallel", r.layout.tensor_parallel},
            {"pipeline_parallel", r.layout.pipeline_parallel},
            {"data_parallel", r.layout.data_parallel},
            {"micro_batch", r.batch.micro_batch},
            {"accumulate", r.batch.accumulate},
            {"global_batch", r.batch.global_batch},
            {"fit", name(e.fit)},
            {"peak_memory_bytes", whole(e.peak_memory)},
            {"host_memory_bytes", whole(e.host_memory)},
            {"step_seconds", e.step_seconds},
            {"tflops_per_gpu", e.tflops_per_gpu},
            {"tflops_convention", "megatron"},
            {"tflops_per_gpu_simple", e.tflops_per_gpu_simple},
            {"mfu", e.mfu},
            {"tokens_per_second", e.tokens_per_second},
            {"days_per_100b_tokens", e.days_per_100b_tokens},
            {"days_to_train", e.days_to_train},
            {"gpu_hours", e.gpu_hours}};
  if (!r.warnings.empty()) json["warnings"] = errors_json(r.warnings);
  return json;
}

Json items_json(const std::vector<plan::Item>& items, const char* unit) {
  Json list = Json::array();
  for (const auto& item : items)
    list.push_back(
        {{"name", item.name}, {"kind", item.kind}, {unit, item.amount}, {"formula", item.formula}});
  return list;
}

// Texts of users may hold anything; what is not UTF-8 is replaced, never thrown at them.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json(const Result& result) {
  Json runs = Json::array();
  for (const auto* run : result.runs) runs.push_back(run_json(*run));
  Json rejected = Json::array();
  for (const auto& run : *result.rejected)
    rejected.push_back({{"id", run.label}, {"reasons", errors_json(run.reasons)}});
  return dump({{"version", 1},
               {"experiment", result.experiment->name},
               {"runs", std::move(runs)},
               {"rejected", std::move(rejected)}});
}

std::string explain_json(const plan::Planned& run) {
  Json json = run_json(run);
  json["time"] = items_json(run.estimate.time, "seconds");
  Json stages = Json::array();
  for (const auto& stage : run.estimate.memory)
    stages.push_back({{"first_stage", stage.first_stage},
                      {"last_stage", stage.last_stage},
                      {"bytes", stage.total},
                      {"items", items_json(stage.items, "bytes")}});
  json["memory"] = std::move(stages);
  return dump({{"version", 1}, {"run", std::move(json)}});
}

}  // namespace orch::report
