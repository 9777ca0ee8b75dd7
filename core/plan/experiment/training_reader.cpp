#include <fmt/format.h>

#include <set>

#include "core/base/text.h"
#include "core/plan/experiment/reader.h"

namespace orch::experiment {
namespace {

constexpr const char* kTrainingExample = "training = { learning_rate = 3e-4, warmup_steps = 100 }";
constexpr std::size_t kMostTrainings = 100'000;

}  // namespace

// The value, or those of a list.
std::vector<plan::Value> ExperimentReader::training_values(const plan::TrainingField& field,
                                                           const sol::object& held,
                                                           const std::string& place) {
  const bool is_list = held.get_type() == sol::type::table && tag_of(held).kind.empty();
  AllowedKeys keys;
  if (is_list)
    keys = keys_of(held.as<sol::table>(), place, errors_);
  else
    keys.items.push_back(held);
  if (!keys.fields.empty() || keys.items.empty())
    error(place,
          keys.items.empty() ? "an empty list leaves nothing to run" : "a name inside a list",
          "a list sweeps over plain values: { 1, 2, 4 }");
  std::vector<plan::Value> values;
  for (std::size_t i = 0; i < keys.items.size(); ++i) {
    const auto item_place = is_list ? fmt::format("{}[{}]", place, i + 1) : place;
    const auto plain = to_value(keys.items[i]);
    if (!plain)
      error(item_place,
            fmt::format("{} is not {}", type_name(keys.items[i]), plan::name(field.param.type)),
            "give one value, or a list of them");
    else if (auto conformed = plan::conform(field.param, *plain, item_place);
             errors_.add(conformed))
      values.push_back(*conformed);
  }
  return values;
}

void ExperimentReader::read_training(const sol::object& value) {
  if (!has_table(value, "training", kTrainingExample)) return;
  const auto before = errors_.size();
  std::set<std::string> given;
  for (const auto& [name, held] :
       fields_of(value.as<sol::table>(), "training", kTrainingExample, errors_)) {
    const auto place = "training." + printable(name);
    const auto* field = plan::find_training_field(name);
    given.insert(name);
    if (!field) {
      error(place, "no such field", suggestion(name, plan::training_names()));
      continue;
    }
    const auto values = training_values(*field, held, place);
    if (values.size() > 1) out_.swept.push_back(name);
    if (out_.trainings.size() * values.size() > kMostTrainings)
      return error("training",
                   fmt::format("the lists multiply to more than {} ways to learn", kMostTrainings),
                   "shorten the lists");
    std::vector<plan::Training> all;
    for (const auto& training : out_.trainings)
      for (const auto& one : values) set(all.emplace_back(training), *field, one);
    if (!all.empty()) out_.trainings = std::move(all);
  }
  if (errors_.size() > before) return;
  for (auto& training : out_.trainings) {
    plan::fill_in(training, given);
    for (const auto& wrong : plan::check_training(training, "training"))
      if (!contains(errors_, wrong)) errors_.push_back(wrong);
  }
}

}  // namespace orch::experiment
