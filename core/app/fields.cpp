#include "core/app/fields.h"

#include <set>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/plan/vocabulary.h"
#include "core/record/planned.h"

namespace orch::app {
namespace {

using plan::Planned;
using plan::Value;

// What is neither a field of a run nor a quantity.
Result<Value> other(const Planned& planned, std::string_view name) {
  const auto& estimate = planned.estimate;
  if (name == "fit") return Value(std::string(plan::name(estimate.fit)));
  if (name == "warnings") return Value(static_cast<std::int64_t>(planned.run.warnings.size()));
  if (name == "memory_low") return Value(estimate.memory_low);
  if (name == "memory_high") return Value(estimate.memory_high);
  if (name == "step_low") return Value(estimate.step_low);
  if (name == "step_high") return Value(estimate.step_high);
  return Error{};
}

std::vector<std::string> known_names(const std::vector<plan::StrategyPtr>& strategies) {
  std::set<std::string> names{"fit",       "warnings", "memory_low", "memory_high",
                              "step_low",  "step_high"};
  for (const auto& term : plan::vocabulary())
    if (term.read) names.emplace(term.name);
  for (const auto& quantity : record::quantities())
    if (quantity.estimated) names.emplace(quantity.name);
  for (const auto& strategy : strategies)
    for (const auto& param : strategy->params) names.insert(param.name);
  return {names.begin(), names.end()};
}

}  // namespace

Result<Value> field(const Planned& planned, std::string_view name,
                    const std::vector<plan::StrategyPtr>& strategies) {
  if (const auto* term = plan::find_term(name); term && term->read) return term->read(planned.run);
  if (const auto* quantity = record::find_quantity(name); quantity && quantity->estimated) {
    const auto value = record::estimated(*quantity, planned);
    return Value(value ? value->value : 0);
  }
  if (auto found = other(planned, name)) return found;
  if (planned.run.strategy->index(name) >= 0) return planned.run.setting(name);
  for (const auto& strategy : strategies)
    if (strategy->index(name) >= 0) return Value();
  return Error{printable(name), "a run has no such field",
               suggestion(name, known_names(strategies))};
}

}  // namespace orch::app
