#include "core/plan/fields.h"

#include <algorithm>
#include <array>

#include "core/plan/model.h"

namespace orch::plan {
namespace {

struct FieldInfo {
  const char* name;
  Section section;
  ParamType type;
  double min, max;
  const char* doc;
};

constexpr std::size_t kFirstSize = static_cast<std::size_t>(Field::layers);
constexpr std::size_t kAfterSizes = static_cast<std::size_t>(Field::cluster);
static_assert(kAfterSizes - kFirstSize == kSizes.size());

// Those beside the model's sizes, in the order of Field.
constexpr std::array<FieldInfo, kFields - kSizes.size()> kOthers{{
    {"family", Section::model, ParamType::text, 0, 0, "gpt, llama, ..."},
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
    {"params", Section::top, ParamType::real, 1, 1e18, "parameters of the model"},
}};

constexpr FieldInfo as_field(const SizeInfo& size) {
  constexpr std::array kTypes{ParamType::boolean, ParamType::integer, ParamType::real};
  return {size.name, Section::model, kTypes[size.at.index()], size.min, size.max, size.doc};
}

constexpr std::array<FieldInfo, kFields> kInfo = [] {
  std::array<FieldInfo, kFields> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i < kFirstSize    ? kOthers[i]
             : i < kAfterSizes ? as_field(kSizes[i - kFirstSize])
                               : kOthers[i - kSizes.size()];
  return all;
}();

Param as_param(const FieldInfo& info) {
  Param param;
  param.name = info.name;
  param.doc = info.doc;
  param.type = info.type;
  param.min = info.min;
  param.max = info.max;
  return param;
}

// Of every run, though a strategy must offer them to change them.
constexpr std::array kLayout{"tensor_parallel", "pipeline_parallel", "context_parallel"};

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

bool is_layout(std::string_view name) {
  return std::find(kLayout.begin(), kLayout.end(), name) != kLayout.end();
}

std::vector<std::string> readable_fields(const Strategy& strategy) {
  std::vector<std::string> names;
  for (const auto& info : kInfo) names.emplace_back(info.name);
  for (const auto& param : strategy.params) names.push_back(param.name);
  for (const auto* layout : kLayout)
    if (strategy.index(layout) < 0) names.emplace_back(layout);
  return names;
}

}  // namespace orch::plan
