#include <algorithm>
#include <array>

#include "core/show/compare/compare.h"

namespace orch::compare {
namespace {

template <class Enum, std::size_t N>
std::string_view pick(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view name(Kind kind) {
  return pick(std::array<std::string_view, 3>{"one", "repeats", "mixture"}, kind);
}

std::string_view name(Aspect aspect) {
  return pick(std::array<std::string_view, 4>{"speed", "memory", "loss", "other"}, aspect);
}

std::string_view name(Standing standing) {
  return pick(std::array<std::string_view, 4>{"same", "differs", "one_sided", "unsaid"}, standing);
}

std::string_view name(Better better) {
  return pick(std::array<std::string_view, 3>{"lower", "higher", "neither"}, better);
}

std::string_view name(Verdict verdict) {
  return pick(std::array<std::string_view, 6>{"better", "worse", "no_difference", "unclear",
                                              "not_comparable", "missing"},
              verdict);
}

bool Cohort::any(bool (*what)(const record::Record&)) const {
  return std::any_of(records.begin(), records.end(), [what](const auto* r) { return what(*r); });
}

bool Cohort::all(bool (*what)(const record::Record&)) const {
  return std::all_of(records.begin(), records.end(), [what](const auto* r) { return what(*r); });
}

bool is_on(plan::Changes effect, Aspect aspect) {
  return aspect == Aspect::speed    ? effect.speed
         : aspect == Aspect::memory ? effect.memory
                                    : effect.loss;
}

}  // namespace orch::compare
