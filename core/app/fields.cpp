#include <map>
#include <set>

#include "core/app/app.h"
#include "core/base/text.h"
#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"

namespace orch::app {
namespace {

using plan::Planned;
using plan::Value;

// What is neither a field of a run nor a quantity.
const std::map<std::string_view, Value (*)(const Planned&)> kOthers = {
    {"fit", [](const Planned& p) { return Value(std::string(plan::name(p.estimate.fit))); }},
    {"warnings", [](const Planned& p) { return Value(std::ssize(p.run.warnings)); }},
    {"memory_low", [](const Planned& p) { return Value(p.estimate.memory_low); }},
    {"memory_high", [](const Planned& p) { return Value(p.estimate.memory_high); }},
    {"step_low", [](const Planned& p) { return Value(p.estimate.step_low); }},
    {"step_high", [](const Planned& p) { return Value(p.estimate.step_high); }},
};

std::vector<std::string> known_names(const std::vector<plan::StrategyPtr>& strategies) {
  std::set<std::string> names;
  for (const auto& [name, read] : kOthers) names.emplace(name);
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
    const auto value = record::estimated(*quantity, planned.estimate);
    return Value(value ? value->value : 0);
  }
  if (const auto other = kOthers.find(name); other != kOthers.end()) return other->second(planned);
  if (planned.run.strategy->index(name) >= 0) return planned.run.setting(name);
  for (const auto& strategy : strategies)
    if (strategy->index(name) >= 0) return Value();
  return Error{printable(name), "a run has no such field",
               suggestion(name, known_names(strategies))};
}

}  // namespace orch::app
