#include "core/plan/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/plan/defaults.h"
#include "core/plan/family.h"
#include "core/plan/run.h"

namespace orch::plan {

FieldSources::FieldSources(const Experiment& experiment, const AskedModel& model,
                           const AskedStrategy& strategy)
    : experiment_(experiment), model_(model), strategy_(strategy) {
  sources_.resize(kFields + strategy.strategy->params.size());
  for (int i = 0; i < kFields; ++i) index_[name(static_cast<Field>(i))] = i;
  for (std::size_t i = 0; i < strategy.strategy->params.size(); ++i)
    index_[strategy.strategy->params[i].name] = kFields + static_cast<int>(i);
  add(experiment.hardware);
  add(experiment.batch);
  add(model.space);
  add(strategy.space);
  keep_used_axes();
}

int FieldSources::index(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

void FieldSources::add(const SweepSpace& space) {
  for (const auto& axis : space.axes) {
    const int position = static_cast<int>(axes_.size());
    axes_.push_back(&axis);
    for (std::size_t column = 0; column < axis.fields.size(); ++column)
      if (const int field = index(axis.fields[column]); field >= 0)
        sources_[static_cast<std::size_t>(field)] = {position, static_cast<int>(column), nullptr};
  }
  for (const auto& derived : space.derived)
    if (const int field = index(derived.field); field >= 0)
      sources_[static_cast<std::size_t>(field)] = {-1, 0, &derived};
}

// Drops axes whose fields are all overridden by other sections: they would only multiply equal
// runs.
void FieldSources::keep_used_axes() {
  std::vector<int> position(axes_.size(), -1);
  std::vector<const SweepAxis*> used;
  for (auto& source : sources_) {
    if (source.axis < 0) continue;
    auto& place = position[static_cast<std::size_t>(source.axis)];
    if (place < 0) {
      place = static_cast<int>(used.size());
      used.push_back(axes_[static_cast<std::size_t>(source.axis)]);
    }
    source.axis = place;
  }
  axes_ = std::move(used);
}

Resolver::Resolver(const FieldSources& frame, const FindCluster& find_cluster)
    : frame_(frame),
      find_cluster_(find_cluster),
      lookup_([this](std::string_view name) { return lookup(name); }),
      values_(frame.n_fields()),
      states_(frame.n_fields()),
      tensor_parallel_(frame.index("tensor_parallel")),
      pipeline_parallel_(frame.index("pipeline_parallel")),
      context_parallel_(frame.index("context_parallel")),
      dtype_(frame.index("dtype")),
      engine_(frame.index("engine")),
      flash_attention_(frame.index("flash_attention")) {}

void Resolver::start(const std::vector<std::size_t>& points) {
  points_ = &points;
  std::fill(states_.begin(), states_.end(), State::open);
  problems_.clear();
  partition_known_ = false;
}

const Value& Resolver::get(int field) {
  const auto i = static_cast<std::size_t>(field);
  if (states_[i] == State::done) return values_[i];
  if (states_[i] == State::busy) {
    static const Value kOne = std::int64_t{1};
    const auto name = field < kFields ? std::string(plan::name(static_cast<Field>(field)))
                                      : frame_.strategy()->params[i - kFields].name;
    const auto* derived = frame_.source(field).derived;
    problem({derived && !derived->place.empty() ? derived->place : name,
             "depends on itself through the functions of the experiment",
             "give one of the fields in the circle a value"});
    return kOne;
  }
  states_[i] = State::busy;
  const auto& source = frame_.source(field);
  Value value = source.given() ? from_source(field, source) : Value();
  if (!is_given(value))
    value = field < kFields ? follow(static_cast<Field>(field)) : default_of(field);
  values_[i] = std::move(value);
  states_[i] = State::done;
  return values_[i];
}

Value Resolver::from_source(int field, const FieldSources::Source& source) {
  if (source.axis >= 0) {
    const auto axis = static_cast<std::size_t>(source.axis);
    return frame_.axes()[axis]->points[(*points_)[axis]][static_cast<std::size_t>(source.column)];
  }
  auto value = source.derived->value(lookup_);
  if (!value) {
    for (const auto& error : value.error()) problem(error);
    return {};
  }
  const auto& derived = *source.derived;
  const auto& place = derived.place.empty() ? derived.field : derived.place;
  auto conformed =
      field < kFields
          ? conform(static_cast<Field>(field), *value, place)
          : conform(frame_.strategy()->params[static_cast<std::size_t>(field - kFields)], *value,
                    place);
  if (conformed) return *conformed;
  for (const auto& error : conformed.error()) problem(error);
  return {};
}

Value Resolver::default_of(int field) {
  const auto& param = frame_.strategy()->params[static_cast<std::size_t>(field - kFields)];
  const auto& framework = frame_.asked().framework;
  if (field == engine_) return default_engine(param, framework);
  if (field != flash_attention_) return param.default_value;
  const auto* dtype = dtype_ < 0 ? nullptr : std::get_if<std::string>(&get(dtype_));
  return default_flash_attention(param,
                                 {partition(), dtype ? *dtype : "bf16", framework, frame_.stack()});
}

std::int64_t Resolver::integer(Field field) {
  const auto* value = std::get_if<std::int64_t>(&get(static_cast<int>(field)));
  return value ? *value : 1;
}

std::int64_t Resolver::layout(std::string_view name) {
  const int field = name == "tensor_parallel"     ? tensor_parallel_
                    : name == "pipeline_parallel" ? pipeline_parallel_
                                                  : context_parallel_;
  if (field < 0) return 1;
  const auto* value = std::get_if<std::int64_t>(&get(field));
  return value ? *value : 1;
}

const Family& Resolver::family() {
  const auto* name = std::get_if<std::string>(&get(Field::family));
  const auto* found = name ? find_family(*name) : nullptr;
  return found ? *found : *families().front();
}

// A required size that is missing counts as 1: the reader of the experiment has already reported
// it.
Model Resolver::model() { return model_before(Field::cluster); }

// The model with only the sizes that come before this one in their family's order.
Model Resolver::model_before(Field field) {
  const auto& own = family();
  Model model;
  model.family = own.name;
  for (const auto& size : own.sizes) {
    if (size.field == field) break;
    // In a circular definition, which is reported elsewhere, a value may be of another type.
    const auto& value = get(size.field);
    if (value.index() == plan::get(model, size.field).index())
      set(model, size.field, value);
    else if (param_of(size.field).type == ParamType::integer)
      set(model, size.field, std::int64_t{1});
  }
  return model;
}

Value Resolver::follow_size(Field field) {
  const auto* size = family().find(field);
  return size ? usual_of(model_before(field), *size) : plan::get(Model(), field);
}

// Here and below, values are read in separate statements, not as operands: reading one may report
// problems, whose order would otherwise depend on the compiler.
std::int64_t Resolver::ranks_of_a_copy() {
  auto ranks = layout("tensor_parallel");
  ranks *= layout("pipeline_parallel");
  return ranks * layout("context_parallel");
}

std::int64_t Resolver::follow_gpus() {
  if (frame_.given(Field::nodes)) {
    const auto* part = partition();
    return integer(Field::nodes) * (part ? part->gpus_per_node : 1);
  }
  if (frame_.given(Field::data_parallel)) {
    const auto data = integer(Field::data_parallel);
    return data * ranks_of_a_copy();
  }
  problem({"hardware", "neither gpus nor nodes is given", "write gpus = 384 or nodes = 48"});
  return 1;
}

std::int64_t Resolver::follow_accumulate() {
  if (!frame_.given(Field::global_batch)) return 1;
  const auto global = integer(Field::global_batch);
  const auto micro = integer(Field::micro_batch);
  const auto data = integer(Field::data_parallel);
  // check() reports a remainder.
  return std::max<std::int64_t>(1, global / (micro * data));
}

// Three numbers within their limits can have a product that overflows an integer.
Value Resolver::follow_global_batch() {
  const auto micro = static_cast<double>(integer(Field::micro_batch));
  const auto accumulate = static_cast<double>(integer(Field::accumulate));
  const double product = micro * accumulate * static_cast<double>(integer(Field::data_parallel));
  auto batch = conform(Field::global_batch, Value(product), "global_batch");
  if (batch) return *batch;
  for (const auto& error : batch.error()) problem(error);
  return static_cast<std::int64_t>(std::min(product, 9e18));
}

Value Resolver::follow(Field field) {
  switch (field) {
    case Field::gpus:
      return follow_gpus();
    case Field::nodes: {
      const auto per_node = integer(Field::gpus_per_node);
      return (integer(Field::gpus) + per_node - 1) / per_node;
    }
    case Field::data_parallel: {
      const auto gpus = integer(Field::gpus);
      return std::max<std::int64_t>(1, gpus / ranks_of_a_copy());
    }
    case Field::micro_batch:
      return std::int64_t{1};
    case Field::accumulate:
      return follow_accumulate();
    case Field::global_batch:
      return follow_global_batch();
    case Field::gpus_per_node: {
      const auto* part = partition();
      return part ? part->gpus_per_node : std::int64_t{1};
    }
    case Field::partition: {
      const auto* part = partition();
      return part ? part->name : std::string();
    }
    case Field::tokens:
      return 100e9;
    case Field::model:
      return frame_.model().name;
    case Field::strategy:
      return frame_.strategy()->name;
    case Field::backend:
      return frame_.strategy()->backend;
    case Field::params:
      return model().params();
    default:
      return is_size(field) ? follow_size(field) : Value();
  }
}

Result<Value> Resolver::lookup(std::string_view name) {
  const int field = frame_.index(name);
  if (field >= 0) return get(field);
  if (is_layout(name)) return Value(std::int64_t{1});
  return Error{printable(name), "no such field of a run",
               suggestion(name, readable_fields(*frame_.strategy()))};
}

const std::shared_ptr<const Cluster>& Resolver::cluster() {
  const auto* name = std::get_if<std::string>(&get(Field::cluster));
  const std::string wanted = name ? *name : "";
  if (wanted != cluster_name_ || !cluster_) {
    cluster_name_ = wanted;
    auto found = find_cluster_(wanted);
    cluster_ = found ? *found : nullptr;
    if (!found)
      for (auto error : found.error()) {
        if (error.place.empty()) error.place = "hardware.cluster";
        problem(std::move(error));
      }
  }
  return cluster_;
}

const Partition* Resolver::partition() {
  if (partition_known_) return partition_;
  partition_known_ = true;
  partition_ = nullptr;
  const auto& owner = cluster();
  if (!owner) return nullptr;
  const auto& source = frame_.source(static_cast<int>(Field::partition));
  if (!source.given() && owner->partitions.size() == 1)
    return partition_ = &owner->partitions.front();
  const auto names = all_names(owner->partitions);
  if (!source.given()) {
    problem({"hardware.partition", owner->name + " has several", "one of: " + join(names, ", ")});
    return nullptr;
  }
  const auto wanted = get(Field::partition);
  const auto* text = std::get_if<std::string>(&wanted);
  partition_ = text ? owner->find(*text) : nullptr;
  if (!partition_)
    problem({"hardware.partition", fmt::format("{} has no partition {}", owner->name, show(wanted)),
             suggestion(text ? *text : "", names)});
  return partition_;
}

}  // namespace orch::plan
