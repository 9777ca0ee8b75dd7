#include "core/plan/fields.h"

#include <array>

#include "core/base/text.h"
#include "core/plan/model.h"
#include "core/plan/setting.h"

namespace orch::plan {
namespace {

constexpr std::size_t kFirstSize = static_cast<std::size_t>(Field::layers);

struct FieldInfo {
  FieldSection section;
  Param param;
};

FieldInfo size_field(const SizeInfo& size) {
  constexpr std::array kTypes{ParamType::boolean, ParamType::integer, ParamType::real};
  Param param{size.name, size.doc, kTypes[size.at.index()]};
  return {FieldSection::model, std::move(param).range(size.min, size.max)};
}

// In the order of Field; no field has a default.
std::vector<FieldInfo> make_fields() {
  std::vector<FieldInfo> fields{
      {FieldSection::model, TextSetting{"family", "gpt, llama, ..."}},
      {FieldSection::hardware, TextSetting{"cluster", "the name of a cluster file"}},
      {FieldSection::hardware, TextSetting{"partition", "a partition of the cluster"}},
      {FieldSection::hardware, Integer{"gpus", "GPUs in all", {}, {1, 10'000'000}}},
      {FieldSection::hardware, Integer{"nodes", "nodes in all", {}, {1, 10'000'000}}},
      {FieldSection::batch, Integer{"micro_batch", "samples per pass", {}, {1, 1'000'000}}},
      {FieldSection::batch, Integer{"accumulate", "micro-batches per step", {}, {1, 100'000'000}}},
      {FieldSection::batch, Integer{"global_batch", "samples per step", {}, {1, 1'000'000'000}}},
      {FieldSection::batch, Integer{"data_parallel", "copies of the model", {}, {1, 10'000'000}}},
      {FieldSection::top, Real{"tokens", "tokens to train on", {}, {1, 1e18}}},
      {FieldSection::top, Integer{"steps", "steps that each job does", {}, {1, 1'000'000'000}}},
      {FieldSection::top, TextSetting{"model", "the model's name"}},
      {FieldSection::top, TextSetting{"strategy", "the strategy's name"}},
      {FieldSection::top, TextSetting{"backend", "the backend's name"}},
      {FieldSection::top, Integer{"gpus_per_node", "of the partition", {}, {1, 1000}}},
      {FieldSection::top, Real{"params", "parameters of the model", {}, {1, 1e18}}},
  };
  std::vector<FieldInfo> sizes;
  for (const auto& size : kSizes) sizes.push_back(size_field(size));
  fields.insert(fields.begin() + kFirstSize, sizes.begin(), sizes.end());
  return fields;
}

const std::vector<FieldInfo>& all_fields() {
  static const auto kAll = make_fields();
  return kAll;
}

// Fields of every run that can be changed only if the strategy offers them.
constexpr std::array kLayout{"tensor_parallel", "pipeline_parallel", "context_parallel"};

std::vector<std::string> names_in(FieldSection section) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kFirstReadOnly; ++i)
    if (all_fields()[i].section == section) names.push_back(all_fields()[i].param.name);
  return names;
}

}  // namespace

std::string_view name(Field field) { return param_of(field).name; }

const std::vector<std::string>& fields_of(FieldSection section) {
  static const std::array<std::vector<std::string>, 4> kNames{
      names_in(FieldSection::model), names_in(FieldSection::hardware),
      names_in(FieldSection::batch), names_in(FieldSection::top)};
  return kNames[static_cast<std::size_t>(section)];
}

const Param& param_of(Field field) { return all_fields()[static_cast<std::size_t>(field)].param; }

Result<Value> conform(Field field, const Value& value, const std::string& place) {
  return conform(param_of(field), value, place);
}

int field_index(std::string_view name, const Strategy& strategy) {
  for (int i = 0; i < kFields; ++i)
    if (name == plan::name(static_cast<Field>(i))) return i;
  const int param = strategy.index(name);
  return param < 0 ? -1 : kFields + param;
}

bool is_layout(std::string_view name) { return contains(kLayout, name); }

std::vector<std::string> readable_fields(const Strategy& strategy) {
  std::vector<std::string> names;
  for (const auto& field : all_fields()) names.push_back(field.param.name);
  for (const auto& param : strategy.params) names.push_back(param.name);
  for (const auto* layout : kLayout)
    if (strategy.index(layout) < 0) names.emplace_back(layout);
  return names;
}

}  // namespace orch::plan
