#include "core/plan/run_fields.h"

#include <algorithm>
#include <type_traits>

#include "core/plan/family.h"

namespace orch::plan {
namespace {

// tensor x pipeline x data parallel stays below 2^63.
constexpr double kMostRanks = 100'000;
constexpr double kMostSamples = 1e12;
constexpr double kMostSeconds = 1e9;

// Asked for, it is at least 1; not asked for, it is 0.
Param or_none(Field field) {
  auto param = param_of(field);
  param.min = 0;
  return param;
}

RunField word(std::string_view section, const char* name, std::string& (*at)(Run&),
              const char* doc = "") {
  return {section, text_param(name, doc), at};
}

RunField number(std::string_view section, Param param, std::int64_t& (*at)(Run&)) {
  return {section, std::move(param), at};
}

// Captureless lambdas become plain functions by their +.
std::vector<RunField> make_run_fields() {
  using I = std::int64_t&;
  using S = std::string&;
  std::vector<RunField> fields{
      word(
          "", "experiment", +[](Run& r) -> S { return r.experiment; }),
      word(
          "", "trainer", +[](Run& r) -> S { return r.trainer; }),
      word(
          "", "stack", +[](Run& r) -> S { return r.stack; }),
      {"", text_param("framework", "that trains in our trainer's place"),
       +[](Run& r) -> S { return r.framework; }, true},
      {"",
       {"launch", "", ParamType::choice, {}, {"", "gpu", "node"}, 0, 0, {}, {}},
       +[](Run& r) -> S { return r.launch; },
       true},
      word(
          "model", "name", +[](Run& r) -> S { return r.model.name; }),
      number(
          "", param_of(Field::gpus), +[](Run& r) -> I { return r.gpus; }),
      number(
          "", param_of(Field::nodes), +[](Run& r) -> I { return r.nodes; }),
      number(
          "", whole_param("tensor_parallel", 1, kMostRanks, "ranks that share a layer"),
          +[](Run& r) -> I { return r.layout.tensor_parallel; }),
      number(
          "", whole_param("pipeline_parallel", 1, kMostRanks, "stages"),
          +[](Run& r) -> I { return r.layout.pipeline_parallel; }),
      {"", whole_param("context_parallel", 1, kMostRanks, "ranks that share each sample"),
       +[](Run& r) -> I { return r.layout.context_parallel; }, true},
      number(
          "", param_of(Field::data_parallel), +[](Run& r) -> I { return r.layout.data_parallel; }),
      number(
          "", param_of(Field::micro_batch), +[](Run& r) -> I { return r.batch.micro_batch; }),
      number(
          "", param_of(Field::accumulate), +[](Run& r) -> I { return r.batch.accumulate; }),
      number(
          "", param_of(Field::global_batch), +[](Run& r) -> I { return r.batch.global_batch; }),
      {"", or_none(Field::tokens), +[](Run& r) -> double& { return r.tokens; }},
      number(
          "", or_none(Field::steps), +[](Run& r) -> I { return r.steps; }),
      word(
          "", "paths_from", +[](Run& r) -> S { return r.paths_from; }),
      {"", text_param("swept", "fields of training that differ between runs"),
       +[](Run& r) -> S { return r.swept; }, true},
      {"", whole_param("repeat", 1, 1e6, "which of a run's repeats"),
       +[](Run& r) -> I { return r.repeat; }, true},
      number(
          "rampup", whole_param("start", 1, kMostSamples, "the first global batch"),
          +[](Run& r) -> I { return r.batch.rampup->start; }),
      number(
          "rampup", whole_param("step", 1, kMostSamples, "by which it grows"),
          +[](Run& r) -> I { return r.batch.rampup->step; }),
      number(
          "rampup", whole_param("samples", 1, kMostSamples, "until it is full"),
          +[](Run& r) -> I { return r.batch.rampup->samples; }),
      {"rampup",
       {"fewer_nodes", "", ParamType::boolean, {}, {}, 0, 0, {}, {}},
       +[](Run& r) -> bool& { return r.batch.rampup->fewer_nodes; }},
      number(
          "rampup", whole_param("phases", 1, 100, "jobs at most"),
          +[](Run& r) -> I { return r.batch.rampup->phases; }),
      word(
          "job", "partition", +[](Run& r) -> S { return r.job.partition; }),
      word(
          "job", "account", +[](Run& r) -> S { return r.job.account; }),
      word(
          "job", "qos", +[](Run& r) -> S { return r.job.qos; }),
      word(
          "job", "constraint", +[](Run& r) -> S { return r.job.constraint; }),
      word(
          "job", "reservation", +[](Run& r) -> S { return r.job.reservation; }),
      word(
          "job", "hint", +[](Run& r) -> S { return r.job.hint; }),
      word(
          "job", "gres", +[](Run& r) -> S { return r.job.gres; }),
      word(
          "job", "time", +[](Run& r) -> S { return r.job.time; }),
      number(
          "job", whole_param("cpus_per_gpu", 0, 1e6, ""),
          +[](Run& r) -> I { return r.job.cpus_per_gpu; }),
      number(
          "job", whole_param("signal_seconds", 0, kMostSeconds, ""),
          +[](Run& r) -> I { return r.job.signal_seconds; }),
      word(
          "job", "setup", +[](Run& r) -> S { return r.job.setup; }),
  };
  const auto after_name = std::find_if(fields.begin(), fields.end(), [](const RunField& field) {
    return field.section == "model";
  }) + 1;
  std::vector<RunField> sizes;
  for (auto i = static_cast<int>(Field::layers); is_size(static_cast<Field>(i)); ++i)
    sizes.push_back({"model", param_of(static_cast<Field>(i)), static_cast<Field>(i)});
  fields.insert(after_name, sizes.begin(), sizes.end());
  Run empty;
  empty.batch.rampup.emplace();
  for (auto& field : fields) field.param.default_value = get(empty, field);
  return fields;
}

}  // namespace

std::string RunField::path() const {
  return section.empty() ? param.name : std::string(section) + "." + param.name;
}

const std::vector<RunField>& run_fields() {
  static const auto kAll = make_run_fields();
  return kAll;
}

Value get(const Run& run, const RunField& field) {
  if (const auto* size = field.size()) return get(run.model, *size);
  return std::visit(
      [&](auto at) -> Value {
        if constexpr (std::is_same_v<decltype(at), Field>)
          return {};
        else
          return at(const_cast<Run&>(run));
      },
      field.at);
}

void set(Run& run, const RunField& field, const Value& conformed) {
  if (const auto* size = field.size()) return set(run.model, *size, conformed);
  std::visit(
      [&](auto at) {
        if constexpr (!std::is_same_v<decltype(at), Field>) {
          auto& held = at(run);
          held = std::get<std::decay_t<decltype(held)>>(conformed);
        }
      },
      field.at);
}

}  // namespace orch::plan
