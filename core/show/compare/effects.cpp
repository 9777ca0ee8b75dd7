#include "core/show/compare/effects.h"

#include <map>

#include "core/plan/vocabulary.h"

namespace orch::compare {
namespace {

constexpr Effect kNothing{false, false, false};
constexpr Effect kSpeed{true, false, false};
constexpr Effect kAll{true, true, true};
constexpr Effect kLoss{false, false, true};

using Table = std::map<std::string_view, Effect>;

// What logs say besides the vocabulary.
const Table& others() {
  static const Table kTable{
      {"seed", kLoss},
      {"lr", kLoss},
      {"learning_rate", kLoss},
      {"train_iters", kLoss},
      {"train_samples", kLoss},
      {"name", kNothing},
      {"label", kNothing},
      {"job", kNothing},
  };
  return kTable;
}

const Table& circumstances() {
  static const Table kTable{
      {"date", kSpeed},  // one machine was 1.7x slower for a day, and nobody knows why
      {"commit", kAll},           {"node names", kSpeed},
      {"cluster file", kNothing},  // changes estimates, never measurements
      {"experiment", kNothing},   {"experiment file", kNothing},
      {"job", kNothing},
  };
  return kTable;
}

}  // namespace

Effect effect_of(std::string_view field) {
  if (const auto* term = plan::find_term(field))
    return {term->changes.speed, term->changes.memory, term->changes.loss};
  const auto found = others().find(field);
  return found == others().end() ? kAll : found->second;
}

Effect circumstance_effect(std::string_view name) {
  const auto found = circumstances().find(name);
  return found == circumstances().end() ? kAll : found->second;
}

}  // namespace orch::compare
