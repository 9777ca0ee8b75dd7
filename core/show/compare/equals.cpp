#include <algorithm>

#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;
using Names = std::vector<std::string>;

// The tokens of a step, if all records have the same.
std::optional<double> common_tokens(const Cohort& group) {
  const auto first = record::tokens_per_step(*group.records.front());
  for (const auto* record : group.records)
    if (record::tokens_per_step(*record) != first) return std::nullopt;
  return first;
}

std::set<std::string> memory_sources(const Cohort& group) {
  std::set<std::string> out;
  for (const auto* record : group.records)
    if (record->measured.peak_memory_bytes && !record->measured.peak_memory_from.empty())
      out.insert(record->measured.peak_memory_from);
  return out;
}

bool differs(const Pair& pair, const std::string& field) {
  return standing_of(pair.differences, field, pair.group) == Standing::differs;
}

Reason steps_reason(const Pair& pair) {
  if (pair.same_size) return Reason::none;
  if (!model_changes(pair.differences, pair.group).empty()) return Reason::other_models;
  if (same_tokens_per_step(pair)) return Reason::none;
  const bool known = common_tokens(pair.base) && common_tokens(pair.other);
  return known ? Reason::other_tokens : Reason::unknown_tokens;
}

bool says_tflops(const Record& record) { return !record.measured.tflops.empty(); }

}  // namespace

Names model_changes(const std::vector<Difference>& differences, std::size_t group) {
  Names out;
  for (const auto& term : plan::vocabulary()) {
    const auto* found = find(differences, term.name);
    if (term.name != "seq" && plan::is_of_model(term.name) && found != nullptr &&
        found->effect.any() && found->standings[group] == Standing::differs)
      out.emplace_back(term.name);
  }
  return out;
}

bool same_tokens_per_step(const Pair& pair) {
  const auto base = common_tokens(pair.base), other = common_tokens(pair.other);
  if (base || other) return base == other;
  const Names fields{"global_batch", "micro_batch", "accumulate", "data_parallel", "seq"};
  return std::ranges::none_of(fields, [&](const std::string& field) {
    const auto standing = standing_of(pair.differences, field, pair.group);
    return standing == Standing::differs || standing == Standing::one_sided;
  });
}

Reason not_comparable(const Metric& metric, const Pair& pair) {
  if (metric.name == "step_seconds") return steps_reason(pair);
  if (metric.aspect == Aspect::memory) {
    const auto base = memory_sources(pair.base), other = memory_sources(pair.other);
    return base.empty() || other.empty() || base == other ? Reason::none : Reason::other_memory;
  }
  return metric.convention == kUnsaidConvention ? Reason::unsaid_convention : Reason::none;
}

std::vector<Unequal> unequals(const Pair& pair) {
  std::vector<Unequal> out;
  if (!pair.same_size && !model_changes(pair.differences, pair.group).empty())
    out.push_back(Unequal::models);
  if (differs(pair, "seq")) out.push_back(Unequal::sequences);
  if (differs(pair, "vocab")) out.push_back(Unequal::vocabularies);
  if (differs(pair, "gpus")) out.push_back(Unequal::gpus);
  if (differs(pair, "recompute") && pair.base.any(says_tflops) && pair.other.any(says_tflops))
    out.push_back(Unequal::recomputation);
  return out;
}

void describe(const Cohort& group, Taken& out) {
  out.tokens_per_step = common_tokens(group);
  out.memory_from = memory_sources(group);
}

}  // namespace orch::compare
