#include "core/price/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/plan/check.h"
#include "core/plan/family.h"

namespace orch::search {

plan::SweepSpace without(const plan::SweepSpace& space, const SettingNames& fields) {
  plan::SweepSpace out;
  for (const auto& axis : space.axes) {
    plan::SweepAxis kept;
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < axis.fields.size(); ++i) {
      if (fields.contains(axis.fields[i])) continue;
      columns.push_back(i);
      kept.fields.push_back(axis.fields[i]);
    }
    for (const auto& point : axis.points) {
      std::vector<plan::Value> row;
      for (const auto i : columns) row.push_back(point[i]);
      if (!contains(kept.points, row)) kept.points.push_back(std::move(row));
    }
    if (!columns.empty()) out.axes.push_back(std::move(kept));
  }
  for (const auto& derived : space.derived)
    if (!fields.contains(derived.field)) out.derived.push_back(derived);
  return out;
}

namespace {

using plan::Field;
using plan::Param;
using plan::Strategy;
using plan::SweepAxis;
using plan::Value;

const char* const kFollows[] = {"data_parallel", "accumulate"};  // follow from the layout

// ---- which fields are open ----

SettingNames names_of(const plan::Experiment& experiment) {
  SettingNames names{"micro_batch", "data_parallel", "accumulate"};
  for (const auto& asked : experiment.strategies)
    for (const auto& param : asked.strategy->params) names.insert(param.name);
  return names;
}

const Param* find_param(const plan::Experiment& experiment, std::string_view name) {
  for (const auto& asked : experiment.strategies)
    if (const int i = asked.strategy->index(name); i >= 0)
      return &asked.strategy->params[static_cast<std::size_t>(i)];
  return nullptr;
}

Errors check_opening(const plan::Experiment& experiment, const OpenFields& opening) {
  Errors errors;
  const auto known = names_of(experiment);
  const std::vector<std::string> list(known.begin(), known.end());
  for (const auto& name : opening.keep)
    if (!known.contains(name))
      errors.push_back({"--keep", fmt::format("no field '{}' to keep", printable(name)),
                        suggestion(name, list)});
  auto openable = list;
  openable.insert(openable.end(),
                  {"all", "gpus", "params"});  // gpus and params are separate searches
  for (const auto& name : opening.open) {
    if (name == "all") continue;
    const auto* param = find_param(experiment, name);
    if (!known.contains(name))
      errors.push_back({"--open", fmt::format("no field '{}' to open", printable(name)),
                        suggestion(name, openable)});
    else if (param && !is_layout(name) && !enumerable(*param))
      errors.push_back({"--open", fmt::format("{} has no set of values to try", name),
                        "give it a list of values in the experiment: they are all tried"});
    if (contains(opening.keep, name))
      errors.push_back({"--open", fmt::format("{} is both kept and opened", printable(name)),
                        "choose one of the two"});
  }
  return errors;
}

// Settings that select the software, not how it is used.
bool is_of_software(std::string_view name) { return name == "engine" || name == "cross_entropy"; }

// A choice is opened together with the parameters that belong to it.
SettingNames opened(const Strategy& strategy, const OpenFields& opening) {
  const auto is_open = [&](const std::string& name, bool has_values) {
    return !contains(opening.keep, name) &&
           (is_layout(name) || contains(opening.open, name) ||
            (has_values && !is_of_software(name) && contains(opening.open, "all")));
  };
  SettingNames names;
  for (const char* name : {"micro_batch", "data_parallel", "accumulate"})
    if (is_open(name, true)) names.insert(name);
  for (const auto& param : strategy.params)
    if (is_open(param.name, enumerable(param))) names.insert(param.name);
  for (const auto& param : strategy.params)
    if (names.contains(param.parent) && !contains(opening.keep, param.name))
      names.insert(param.name);
  return names;
}

// ---- the experiment without them ----

bool same_space(const plan::SweepSpace& a, const plan::SweepSpace& b) {
  const auto same_axis = [](const SweepAxis& x, const SweepAxis& y) {
    return x.fields == y.fields && x.points == y.points;
  };
  return a.derived.empty() && b.derived.empty() &&
         std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(), same_axis);
}

// The same trainer in the same environment.
bool same_software(const plan::AskedStrategy& a, const plan::AskedStrategy& b) {
  return a.stack == b.stack && a.framework == b.framework && a.launch == b.launch &&
         a.args == b.args && a.job == b.job;
}

// Strategies that differ in open fields only are the same part, and so are models whose shapes are
// searched.
bool same_part(const SpacePart& a, const SpacePart& b) {
  const auto &model = a.experiment.models.front(), &other = b.experiment.models.front();
  const auto &asked = a.experiment.strategies.front(), &wanted = b.experiment.strategies.front();
  return asked.strategy == wanted.strategy && same_software(asked, wanted) &&
         same_space(asked.space, wanted.space) && same_space(model.space, other.space) &&
         a.shapes == b.shapes && (!a.shapes.empty() || model.name == other.name);
}

// The first value that the experiment gives to a field, or nothing.
Value own_value(const plan::FieldSources& frame, int field) {
  const auto& source = frame.source(field);
  if (source.axis < 0) return {};
  const auto& axis = *frame.axes()[static_cast<std::size_t>(source.axis)];
  return axis.points.front()[static_cast<std::size_t>(source.column)];
}

std::vector<SpaceSetting> settings_of(const plan::FieldSources& frame, const SettingNames& open) {
  std::vector<SpaceSetting> settings;
  const auto& params = frame.strategy()->params;
  const auto is_open = [&](const Param& param) { return open.contains(param.name); };
  const auto own = [&](std::size_t i) {
    return own_value(frame, plan::kFields + static_cast<int>(i));
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!is_open(params[i]) || open.contains(params[i].parent) ||
        params[i].name == "tensor_parallel" || params[i].name == "pipeline_parallel")
      continue;
    SpaceSetting setting{static_cast<int>(i),
                         {},
                         depends_on_layout(params[i]),
                         plan::is_checked(*frame.strategy(), params[i]),
                         {own(i)}};
    for (std::size_t child = 0; child < params.size(); ++child) {
      if (params[child].parent != params[i].name || !is_open(params[child])) continue;
      setting.children.push_back(static_cast<int>(child));
      setting.own.push_back(own(child));
      setting.depends_on_layout |= depends_on_layout(params[child]);
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

// The fields without which there is nothing to divide.
Errors check_given(const plan::FieldSources& frame, const SpacePart& part) {
  Errors errors;
  const auto& file = frame.experiment().file;
  if (!frame.given(Field::gpus) && !frame.given(Field::nodes))
    errors.push_back({file + ": hardware", "a search needs to know how many GPUs there are",
                      "write gpus = 384 or nodes = 48"});
  if (!frame.given(Field::global_batch) && part.micro_batch)
    errors.push_back({file + ": batch.global_batch",
                      "missing: layouts could only be compared at different batches",
                      "write global_batch = 2048, or keep the experiment's: --keep micro_batch"});
  return errors;
}

// Makes the model with other layers, width and heads; sizes that are not given follow from them.
MakeModel models_of(const plan::FieldSources& frame) {
  const auto family = own_value(frame, static_cast<int>(Field::family));
  const auto* name = std::get_if<std::string>(&family);
  const auto* found = name ? plan::find_family(*name) : nullptr;
  return [&frame, found](const RankShape& shape) {
    return plan::complete(found ? *found : *plan::families().front(), [&](Field field) -> Value {
      if (field == Field::layers) return shape.layers;
      if (field == Field::hidden) return shape.hidden;
      if (field == Field::heads) return shape.heads;
      return own_value(frame, static_cast<int>(field));
    });
  };
}

// Adds an axis with a single point for each open field; a maker overwrites its value.
void add_placeholders(const SettingNames& open, const Strategy& strategy, bool shapes,
                      plan::SweepSpace& to) {
  const auto add = [&](const std::string& field) {
    to.axes.push_back({{field}, {{Value(std::int64_t{1})}}});
  };
  if (open.contains("micro_batch")) add("micro_batch");
  for (const auto& param : strategy.params)
    if (open.contains(param.name)) {
      add(param.name);
      // Functions may read the field before a value is chosen, even if it has no default.
      to.axes.back().points.front().front() = candidates(param, Value()).front();
    }
  if (shapes)
    for (const char* size : {"layers", "hidden", "heads"}) add(size);
}

Result<SpacePart> make_part(const plan::Experiment& experiment, const plan::AskedModel& model,
                            const plan::AskedStrategy& asked, const SettingNames& open) {
  const plan::FieldSources original(experiment, model, asked);
  SpacePart part;
  part.settings = settings_of(original, open);
  part.tensor_parallel = open.contains("tensor_parallel");
  part.pipeline_parallel = open.contains("pipeline_parallel");
  part.micro_batch = open.contains("micro_batch");
  part.keeps_data_parallel = !open.contains(kFollows[0]) && original.given(Field::data_parallel);
  part.keeps_accumulate = !open.contains(kFollows[1]) && original.given(Field::accumulate);
  auto removed = open;
  if (!original.given(Field::global_batch)) removed.erase("accumulate");  // it determines the batch
  if (experiment.shapes) removed.insert({"layers", "hidden", "heads"});

  auto errors = check_given(original, part);
  if (experiment.shapes) {
    auto shapes = shapes_of(*experiment.shapes, models_of(original), experiment.file + ": search");
    if (errors.add(shapes)) part.shapes = std::move(*shapes);
  }
  if (!errors.empty()) return errors;

  auto& own = part.experiment;
  own.name = experiment.name;
  own.file = experiment.file;
  own.rampup = experiment.rampup;
  own.budget = experiment.budget;
  own.job = experiment.job;
  own.trainer = experiment.trainer;
  own.stack = experiment.stack;
  own.strict = experiment.strict;
  own.hardware = without(experiment.hardware, removed);
  own.batch = without(experiment.batch, removed);
  own.models.push_back({model.name, without(model.space, removed)});
  own.strategies.push_back(asked);
  own.strategies.back().space = without(asked.space, removed);
  add_placeholders(open, *asked.strategy, !part.shapes.empty(), own.strategies.front().space);
  for (const auto* space :
       {&own.hardware, &own.batch, &own.models.front().space, &own.strategies.front().space})
    part.functions |= !space->derived.empty();
  return part;
}

}  // namespace

std::vector<std::vector<Value>> points_of(const SpaceSetting& setting, const plan::Run& run) {
  const auto param_of = [&](int i) -> const Param& {
    return run.strategy->params[static_cast<std::size_t>(i)];
  };
  const auto values = [&](int i, const Value& own) {
    const auto& param = param_of(i);
    return depends_on_layout(param) ? candidates(param, run) : candidates(param, own);
  };
  std::vector<std::vector<Value>> points;
  for (const auto& value : values(setting.param, setting.own.front())) {
    std::vector<std::vector<Value>> rows{{value}};
    for (std::size_t c = 0; c < setting.children.size(); ++c) {
      const auto& child = param_of(setting.children[c]);
      const bool counts = value == Value(child.choice);
      const auto choices = counts ? values(setting.children[c], setting.own[c + 1])
                                  : std::vector<Value>{child.default_value};
      std::vector<std::vector<Value>> product;
      for (const auto& row : rows)
        for (const auto& choice : choices) {
          product.push_back(row);
          product.back().push_back(choice);
        }
      rows = std::move(product);
    }
    std::move(rows.begin(), rows.end(), std::back_inserter(points));
  }
  return points;
}

Result<std::unique_ptr<const SearchSpace>> SearchSpace::make(const plan::Experiment& experiment,
                                                             plan::FindCluster find_cluster,
                                                             const OpenFields& opening) {
  auto errors = check_opening(experiment, opening);
  if (!errors.empty()) return errors;
  errors = plan::check_hardware(experiment, find_cluster);
  if (!errors.empty()) return errors;
  std::unique_ptr<SearchSpace> space(new SearchSpace(experiment));
  const auto catalog = std::make_shared<std::mutex>();
  space->find_cluster_ = [catalog, find = std::move(find_cluster)](std::string_view name) {
    const std::lock_guard lock(*catalog);
    return find(name);
  };
  for (std::size_t model = 0; model < experiment.models.size(); ++model) {
    for (const auto& asked : experiment.strategies) {
      auto part =
          make_part(experiment, experiment.models[model], asked, opened(*asked.strategy, opening));
      if (!part) {
        for (const auto& error : part.error())
          if (!contains(errors, error)) errors.push_back(error);
      } else if (std::none_of(space->parts_.begin(), space->parts_.end(),
                              [&](const SpacePart& known) { return same_part(known, *part); })) {
        part->model = model;
        space->parts_.push_back(std::move(*part));
      }
    }
  }
  if (!errors.empty()) return errors;
  return std::unique_ptr<const SearchSpace>(std::move(space));
}

}  // namespace orch::search
