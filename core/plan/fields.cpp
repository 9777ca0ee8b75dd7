#include "core/plan/fields.h"

#include <array>

namespace orch::plan {
namespace {

struct FieldInfo {
  const char* name;
  Section section;
  ParamType type;
  double min, max;
  const char* doc;
};

// The limits are far beyond any machine of today; they stop typing errors, not ambition.
constexpr std::array<FieldInfo, kFields> kInfo{{
    {"family", Section::model, ParamType::choice, 0, 0, "gpt or bloom"},
    {"layers", Section::model, ParamType::integer, 1, 100'000, "transformer layers"},
    {"hidden", Section::model, ParamType::integer, 1, 10'000'000, "width of the model"},
    {"heads", Section::model, ParamType::integer, 1, 1'000'000, "attention heads"},
    {"vocab", Section::model, ParamType::integer, 1, 100'000'000, "tokens in the vocabulary"},
    {"seq", Section::model, ParamType::integer, 1, 100'000'000, "tokens per sample"},
    {"cluster", Section::hardware, ParamType::text, 0, 0, "the name of a cluster file"},
    {"partition", Section::hardware, ParamType::text, 0, 0, "a partition of the cluster"},
    {"gpus", Section::hardware, ParamType::integer, 1, 10'000'000, "GPUs in all"},
    {"nodes", Section::hardware, ParamType::integer, 1, 10'000'000, "nodes in all"},
    {"micro_batch", Section::batch, ParamType::integer, 1, 1'000'000, "samples per pass"},
    {"accumulate", Section::batch, ParamType::integer, 1, 100'000'000, "micro-batches per step"},
    {"global_batch", Section::batch, ParamType::integer, 1, 1'000'000'000, "samples per step"},
    {"data_parallel", Section::batch, ParamType::integer, 1, 10'000'000, "copies of the model"},
    {"tokens", Section::top, ParamType::real, 1, 1e18, "tokens to train on"},
    {"steps", Section::top, ParamType::integer, 1, 1'000'000'000, "steps that each job does"},
    {"model", Section::top, ParamType::text, 0, 0, "the model's name"},
    {"strategy", Section::top, ParamType::text, 0, 0, "the strategy's name"},
    {"backend", Section::top, ParamType::text, 0, 0, "the backend's name"},
    {"gpus_per_node", Section::top, ParamType::integer, 1, 1000, "of the partition"},
    {"head_dim", Section::top, ParamType::integer, 1, 10'000'000, "hidden / heads"},
    {"params", Section::top, ParamType::real, 1, 1e18, "parameters of the model"},
}};

Param as_param(const FieldInfo& info) {
  Param param;
  param.name = info.name;
  param.doc = info.doc;
  param.type = info.type;
  param.min = info.min;
  param.max = info.max;
  if (info.type == ParamType::choice) param.choices = {"gpt", "bloom"};
  return param;
}

std::vector<std::string> names_in(Section section) {
  std::vector<std::string> names;
  for (int i = 0; i < kFirstReadOnly; ++i)
    if (kInfo[static_cast<std::size_t>(i)].section == section)
      names.emplace_back(kInfo[static_cast<std::size_t>(i)].name);
  return names;
}

}  // namespace

std::string_view name(Field field) { return kInfo[static_cast<std::size_t>(field)].name; }

const std::vector<std::string>& fields_of(Section section) {
  static const std::array<std::vector<std::string>, 4> kNames{
      names_in(Section::model), names_in(Section::hardware), names_in(Section::batch),
      names_in(Section::top)};
  return kNames[static_cast<std::size_t>(section)];
}

const Param& param_of(Field field) {
  static const auto kParams = [] {
    std::vector<Param> params;
    for (const auto& info : kInfo) params.push_back(as_param(info));
    return params;
  }();
  return kParams[static_cast<std::size_t>(field)];
}

Result<Value> conform(Field field, const Value& value, const std::string& place) {
  return conform(param_of(field), value, place);
}

int field_index(std::string_view name, const Strategy& strategy) {
  for (int i = 0; i < kFields; ++i)
    if (name == kInfo[static_cast<std::size_t>(i)].name) return i;
  const int param = strategy.index(name);
  return param < 0 ? -1 : kFields + param;
}

std::vector<std::string> readable_fields(const Strategy& strategy) {
  std::vector<std::string> names;
  for (const auto& info : kInfo) names.emplace_back(info.name);
  for (const auto& param : strategy.params) names.push_back(param.name);
  for (const char* layout : {"tensor_parallel", "pipeline_parallel"})
    if (strategy.index(layout) < 0) names.emplace_back(layout);
  return names;
}

}  // namespace orch::plan
