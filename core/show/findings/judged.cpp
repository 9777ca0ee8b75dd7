#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"

// A metric in words: its values, its ratio, and the reason of the verdict.
namespace orch::findings {
namespace {

using compare::Aspect, compare::Judgement, compare::Metric, compare::VerdictReason,
    compare::PairVerdict;
using statistics::Interval;

double in_unit(const Metric& metric) {
  const auto* quantity = record::find_quantity(metric.name);
  return quantity ? record::in_unit(quantity->unit, 1) : 1;
}

std::string number(const Metric& metric, double value) {
  return metric.name == "peak_memory_bytes" ? fmt::format("{:.1f}", value * in_unit(metric))
                                            : format_number(value * in_unit(metric));
}

std::string tokens_text(const Comparison& c, std::size_t group) {
  return fmt::format("a step is {} tokens in one and {} in the other",
                     group_digits(*c.groups.front().tokens_per_step),
                     group_digits(*c.groups[group].tokens_per_step));
}

std::string memory_text(const Comparison& c, std::size_t group) {
  const auto list = [](const std::set<std::string>& from) {
    return join(std::vector(from.begin(), from.end()), ", ");
  };
  return fmt::format("measured in different ways: {} and {}", list(c.groups.front().memory_from),
                     list(c.groups[group].memory_from));
}

std::string models_text(const Comparison& c, std::size_t group) {
  std::vector<std::string> changes;
  for (const auto& field : compare::model_changes(c.differences, group))
    changes.push_back(change_text(*compare::find(c.differences, field), group));
  return "steps of different models: " + join(changes, ", ");
}

}  // namespace

std::string times_text(double factor) {
  return fmt::format("{:.{}f}", factor, factor < 10 ? 2 : factor < 100 ? 1 : 0);
}

std::string interval_text(const Metric& metric, const Interval& interval) {
  auto out = number(metric, interval.value);
  if (!interval.has_limits()) return out;
  return out +
         fmt::format(" ({} to {})", number(metric, *interval.low), number(metric, *interval.high));
}

std::string measured_text(const Metric& metric, const compare::ComparedAmount& value) {
  if (!value.measured) return "";
  auto out = interval_text(metric, *value.measured);
  if (value.lowest)
    out += fmt::format(" ({} to {}, range of {})", number(metric, *value.lowest),
                       number(metric, *value.highest), value.runs);
  return value.doubtful.empty() ? out : out + " ?";
}

Comparative comparative_of(const Metric& metric) {
  if (metric.aspect == Aspect::memory)
    return {"takes ", "less memory", "more memory", "as much memory"};
  if (metric.name == "gpu_hours_per_1e9_tokens")
    return {"takes ", "fewer GPU-hours", "more GPU-hours", "as many GPU-hours"};
  if (metric.aspect == Aspect::other)
    return metric.better == compare::Better::lower
               ? Comparative{"is ", "lower", "higher", "the same"}
               : Comparative{"is ", "higher", "lower", "the same"};
  if (!metric.convention.empty()) return {"has ", "more TFLOPs", "fewer TFLOPs", "as many TFLOPs"};
  return {"is ", "faster", "slower", "as fast"};
}

std::string ratio_text(const Interval& ratio, const Comparative& words) {
  if (compare::rounds_to_one(ratio)) return fmt::format("{} to within 0.5 %", words.same);
  const bool better = ratio.value >= 1;
  auto out = compare::rounds_to_one({ratio.value, {}, {}, 1})
                 ? std::string(words.same)
                 : fmt::format("{}x {}", times_text(better ? ratio.value : 1 / ratio.value),
                               better ? words.better : words.worse);
  if (!ratio.has_limits()) return out;
  return out + fmt::format(" ({} to {})", times_text(better ? *ratio.low : 1 / *ratio.high),
                           times_text(better ? *ratio.high : 1 / *ratio.low));
}

std::string reason_text(const Comparison& c, const Judgement& judgement, std::size_t group) {
  static const std::map<VerdictReason, std::string_view> kTexts{
      {VerdictReason::single_values, "single values: no interval"},
      {VerdictReason::one_single_value, "one of the two is a single value: no interval"},
      {VerdictReason::medians, "medians of a mixture: no interval"},
      {VerdictReason::ranges_overlap, "the ranges of the mixtures overlap"},
      {VerdictReason::few_runs,
       "repeats of one configuration differ by that much: repeat them to know"},
      {VerdictReason::repeats, "repeats of one run: it is noise"},
      {VerdictReason::unknown_tokens, "it is not known whether a step has as many tokens in both"},
      {VerdictReason::unsaid_convention, "the convention is not said: they may not count alike"},
      {VerdictReason::one_convention, "only one of the two counts like this"},
      {VerdictReason::only_one, "only one of the two has it"},
      {VerdictReason::one_estimated, "measured in one and only estimated in the other"}};
  if (judgement.reason == VerdictReason::other_models) return models_text(c, group);
  if (judgement.reason == VerdictReason::other_tokens) return tokens_text(c, group);
  if (judgement.reason == VerdictReason::other_memory) return memory_text(c, group);
  const auto found = kTexts.find(judgement.reason);
  return found == kTexts.end() ? "" : std::string(found->second);
}

std::string judgement_text(const Comparison& c, const Judgement& judgement, const Metric& metric,
                           std::size_t group) {
  const auto reason = reason_text(c, judgement, group);
  if (!judgement.ratio) return reason;
  const auto ratio = ratio_text(*judgement.ratio, comparative_of(metric));
  if (judgement.verdict == PairVerdict::no_difference) return "no detectable difference: " + ratio;
  if (judgement.verdict != PairVerdict::unclear) return ratio;
  return "unclear: " + ratio +
         (judgement.estimated ? ", within what estimates can be wrong" : "; " + reason);
}

}  // namespace orch::findings
