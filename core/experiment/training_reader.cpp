#include <fmt/format.h>

#include "core/base/text.h"
#include "core/experiment/reader.h"

namespace orch::experiment {
namespace {

constexpr const char* kTrainingExample = "training = { learning_rate = 3e-4, warmup_steps = 100 }";

}  // namespace

void Reader::read_training(const sol::object& value) {
  if (!value.valid()) return;
  if (!is_table(value, "training", kTrainingExample)) return;
  const auto before = errors_.size();
  std::set<std::string> given;
  for (const auto& [name, held] :
       fields_of(value.as<sol::table>(), "training", kTrainingExample, errors_)) {
    const auto place = "training." + printable(name);
    const auto* field = plan::find_training_field(name);
    const auto plain = to_value(held);
    if (!field)
      error(place, "no such field", suggestion(name, plan::training_names()));
    else if (!plain)
      error(place, fmt::format("{} is not {}", type_name(held), plan::name(field->param.type)),
            "all runs of an experiment learn alike: give one value");
    else if (auto conformed = plan::conform(field->param, *plain, place); !conformed)
      errors_.insert(errors_.end(), conformed.error().begin(), conformed.error().end());
    else
      set(out_.training, *field, *conformed);
    given.insert(name);
  }
  plan::fill_in(out_.training, given);
  if (errors_.size() > before) return;
  const auto errors = plan::check_training(out_.training, "training");
  errors_.insert(errors_.end(), errors.begin(), errors.end());
}

}  // namespace orch::experiment
