#include <algorithm>

#include "core/plan/vocabulary.h"
#include "core/record/quantities.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using record::Record;
using Names = std::vector<std::string>;

// Tokens per step, if equal in all records.
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

bool differs(const RecordPair& pair, const std::string& field) {
  return standing_of(pair.differences, field, pair.group) == FieldAgreement::differs;
}

VerdictReason steps_reason(const RecordPair& pair) {
  if (pair.same_size) return VerdictReason::none;
  if (!model_changes(pair.differences, pair.group).empty()) return VerdictReason::other_models;
  if (same_tokens_per_step(pair)) return VerdictReason::none;
  const bool known = common_tokens(pair.base) && common_tokens(pair.other);
  return known ? VerdictReason::other_tokens : VerdictReason::unknown_tokens;
}

bool says_tflops(const Record& record) { return !record.measured.tflops.empty(); }

}  // namespace

Names model_changes(const std::vector<Difference>& differences, std::size_t group) {
  Names out;
  for (const auto& term : plan::vocabulary()) {
    const auto* found = find(differences, term.name);
    if (term.name != "seq" && plan::is_of_model(term.name) && found != nullptr &&
        found->effect.any() && found->standings[group] == FieldAgreement::differs)
      out.emplace_back(term.name);
  }
  return out;
}

bool same_tokens_per_step(const RecordPair& pair) {
  const auto base = common_tokens(pair.base), other = common_tokens(pair.other);
  if (base || other) return base == other;
  const Names fields{"global_batch", "micro_batch", "accumulate", "data_parallel", "seq"};
  return std::ranges::none_of(fields, [&](const std::string& field) {
    const auto standing = standing_of(pair.differences, field, pair.group);
    return standing == FieldAgreement::differs || standing == FieldAgreement::one_sided;
  });
}

VerdictReason not_comparable(const Metric& metric, const RecordPair& pair) {
  if (metric.name == "step_seconds") return steps_reason(pair);
  if (metric.aspect == Aspect::memory) {
    const auto base = memory_sources(pair.base), other = memory_sources(pair.other);
    return base.empty() || other.empty() || base == other ? VerdictReason::none
                                                          : VerdictReason::other_memory;
  }
  return metric.convention == kUnsaidConvention ? VerdictReason::unsaid_convention
                                                : VerdictReason::none;
}

std::vector<Inequality> unequals(const RecordPair& pair) {
  std::vector<Inequality> out;
  if (!pair.same_size && !model_changes(pair.differences, pair.group).empty())
    out.push_back(Inequality::models);
  if (differs(pair, "seq")) out.push_back(Inequality::sequences);
  if (differs(pair, "vocab")) out.push_back(Inequality::vocabularies);
  if (differs(pair, "gpus")) out.push_back(Inequality::gpus);
  if (differs(pair, "recompute") && pair.base.any(says_tflops) && pair.other.any(says_tflops))
    out.push_back(Inequality::recomputation);
  return out;
}

void describe(const Cohort& group, GroupSummary& out) {
  out.tokens_per_step = common_tokens(group);
  out.memory_from = memory_sources(group);
}

}  // namespace orch::compare
