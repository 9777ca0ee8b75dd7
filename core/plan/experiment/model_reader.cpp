// Reads the models of an experiment, and presets.
#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"
#include "core/plan/family.h"

namespace orch::experiment {
namespace {

constexpr const char* kExpertParallel = "expert_parallel";

}  // namespace

plan::AskedModel ExperimentReader::read_model(const sol::object& value, const std::string& place) {
  plan::AskedModel model;
  sol::table table;
  if (value.get_type() == sol::type::string) {
    const auto name = value.as<std::string>();
    const auto found = state_.presets().find(name);
    if (found == state_.presets().end()) {
      error(place, fmt::format("no model '{}'", printable(name)),
            suggestion(name, all_names(state_.presets())));
      return model;
    }
    model.name = name;
    table = found->second;
  } else if (tag_of(value).kind == "model") {
    table = value.as<sol::table>();
    const auto given = table.raw_get<sol::object>("name");
    if (given.get_type() == sol::type::string) model.name = given.as<std::string>();
    if (model.name.size() > kLongestName)
      error(place + ".name",
            fmt::format("{} characters are too long for a name of folders and jobs",
                        model.name.size()),
            fmt::format("use at most {}", kLongestName));
    else if (given.valid() && !is_plain_name(model.name))
      error(place + ".name", fmt::format("{} cannot be a name of folders and jobs", shown(given)),
            "use letters, digits, '.', '_' and '-', and start with a letter or digit");
  } else {
    error(place, fmt::format("{} is not a model", type_name(value)),
          fmt::format(
              "write gpt{{ layers = ..., hidden = ..., heads = ..., vocab = ..., seq = ... }}, "
              "another family ({}) or the name of a preset (orch models lists them)",
              join(plan::family_names(), ", ")));
    return model;
  }
  const auto& family = *plan::find_family(tag_of(table).name);
  // expert_parallel belongs to the strategy, but people write it with the experts.
  std::vector<std::string> others{"name", "doc"};
  if (family.find(plan::Field::experts)) others.emplace_back(kExpertParallel);
  model.space = spaces_.read(table, {{}, nullptr, others, &family}, place);
  if (const auto dealt = table.raw_get<sol::object>(kExpertParallel); dealt.valid())
    model.space.axes.push_back(
        {{kExpertParallel},
         {{plan::Value(whole(dealt, place + "." + kExpertParallel, 1, kMostNodes))}}});
  model.space.axes.push_back({{"family"}, {{plan::Value(std::string(family.name))}}});
  for (const auto& size : family.sizes)
    if (const std::string name(plan::name(size.field));
        size.must_be_said() && !mentions(table, name))
      error(place + "." + name, "missing", fmt::format("write {} = <number>", name));
  return model;
}

void ExperimentReader::read_models(const sol::object& value) {
  if (!value.valid())
    return error("model", "missing", "write model = gpt{ ... } or model = \"bloom-7b\"");
  if (value.get_type() == sol::type::table && tag_of(value).kind.empty()) {
    const auto keys = keys_of(value.as<sol::table>(), "model", errors_);
    if (keys.items.empty() && keys.fields.empty())
      return error("model", "an empty list leaves nothing to run", "give at least one model");
    if (!keys.fields.empty())
      return error("model", "a table without a family", "write model = gpt{ ... } or llama{ ... }");
    for (std::size_t i = 0; i < keys.items.size(); ++i)
      out_.models.push_back(read_model(keys.items[i], fmt::format("model[{}]", i + 1)));
  } else {
    out_.models.push_back(read_model(value, "model"));
  }
}

}  // namespace orch::experiment
