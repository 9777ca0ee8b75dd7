#include <algorithm>
#include <initializer_list>

#include "core/show/compare/compare.h"

namespace orch::compare {
namespace {

template <class Enum>
std::string_view pick(Enum value, std::initializer_list<std::string_view> names) {
  return names.begin()[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view name(GroupKind kind) { return pick(kind, {"one", "repeats", "mixture"}); }

std::string_view name(Aspect aspect) { return pick(aspect, {"speed", "memory", "loss", "other"}); }

std::string_view name(FieldAgreement standing) {
  return pick(standing, {"same", "differs", "one_sided", "unsaid"});
}

std::string_view name(Better better) { return pick(better, {"lower", "higher", "neither"}); }

std::string_view name(PairVerdict verdict) {
  return pick(verdict,
              {"better", "worse", "no_difference", "unclear", "not_comparable", "missing"});
}

std::string_view name(VerdictReason reason) {
  return pick(reason,
              {"", "single_values", "one_single_value", "medians", "ranges_overlap", "few_runs",
               "repeats", "other_models", "other_tokens", "unknown_tokens", "other_memory",
               "unsaid_convention", "one_convention", "neither", "only_one", "one_estimated"});
}

bool Cohort::any(bool (*what)(const record::Record&)) const {
  return std::ranges::any_of(records, [what](const auto* r) { return what(*r); });
}

bool Cohort::all(bool (*what)(const record::Record&)) const {
  return std::ranges::all_of(records, [what](const auto* r) { return what(*r); });
}

bool is_on(plan::FieldEffect effect, Aspect aspect) {
  return aspect == Aspect::speed    ? effect.speed
         : aspect == Aspect::memory ? effect.memory
                                    : effect.loss;
}

}  // namespace orch::compare
