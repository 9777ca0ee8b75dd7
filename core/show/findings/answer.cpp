#include <fmt/format.h>

#include <algorithm>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/findings/compared.h"

// The answer of a comparison. If numbers of GPUs differ, the result per GPU comes first, because
// more GPUs are faster without being better.
namespace orch::findings {
namespace {

using compare::Aspect, compare::Judgement, compare::Metric, compare::SharedRecords,
    compare::FieldAgreement, compare::PairVerdict;
using statistics::Interval;
using Names = std::vector<std::string>;

constexpr Comparative kSpeed{"is ", "faster", "slower", "as fast"};
constexpr Comparative kPerGpu{"is ", "faster per GPU", "slower per GPU", "as fast per GPU"};

bool gpus_differ(const Comparison& c, const GroupComparison& against) {
  return compare::standing_of(c.differences, "gpus", against.group) == FieldAgreement::differs;
}

// The metric for comparing two groups: GPU-hours if the numbers of GPUs differ, else the metric
// that groups are ordered by, else the first that both have.
const Metric* metric_of(const Comparison& c, const GroupComparison& against) {
  const auto* ordered = compare::headline(c);
  const Metric* found = nullptr;
  for (std::size_t i = 0; i < c.metrics.size(); ++i) {
    const auto& metric = c.metrics[i];
    if (!against.judgements[i].ratio) continue;
    if (gpus_differ(c, against) && metric.name == "gpu_hours_per_1e9_tokens") return &metric;
    if (&metric == ordered || found == nullptr) found = &metric;
  }
  return found;
}

const Judgement& judgement_of(const Comparison& c, const GroupComparison& against,
                              const Metric* metric) {
  return against.judgements[static_cast<std::size_t>(metric - c.metrics.data())];
}

// "16 GPUs against 8", "params 7B against 13B": the most important differences.
Names sizes_text(const Comparison& c, std::size_t group) {
  Names out;
  const auto add = [&](const std::string& field) {
    const auto* found = compare::find(c.differences, field);
    if (found == nullptr || found->standings[group] != FieldAgreement::differs) return false;
    const auto text = [&](const compare::FieldValues& said) {
      if (said.values.size() == 1 && field == "params")
        return format_tokens(number_from<double>(said.values.front()).value_or(0));
      return first_of(said.values, 3);
    };
    auto own = text(found->said[group]);
    if (field == "gpus") own += own == "1" ? " GPU" : " GPUs";
    const auto both = own + " against " + text(found->said.front());
    out.push_back(field == "gpus" ? both : field + " " + both);
    return true;
  };
  add("gpus"), add("seq"), add("model") || add("params") || add("layers");
  return out;
}

// "95 %: 1.21 to 1.38", for the ratio as it is printed.
std::string limits_text(const Judgement& judgement) {
  const auto& ratio = *judgement.ratio;
  if (!ratio.has_limits()) return "";
  const bool better = ratio.value >= 1;
  return fmt::format("{} %: {} to {}", judgement.estimated ? 90 : 95,
                     times_text(better ? *ratio.low : 1 / *ratio.high),
                     times_text(better ? *ratio.high : 1 / *ratio.low));
}

// "b is 1.36x faster than a (95 %: 1.33 to 1.39; 16 GPUs against 8)".
std::string clause(const Comparison& c, std::size_t group, const Judgement& judgement,
                   const Comparative& words, Names beside) {
  const auto plain = ratio_text({judgement.ratio->value, {}, {}, 1}, words);
  const auto base = spoken(c, 0), other = spoken(c, group);
  if (const auto limits = limits_text(judgement); !limits.empty())
    beside.insert(beside.begin(), limits);
  if (judgement.verdict == PairVerdict::no_difference)
    return fmt::format("{} and {} do not differ beyond the error of what was {} ({}{}{})", other,
                       base, judgement.estimated ? "estimated" : "measured", plain,
                       beside.empty() ? "" : "; ", join(beside, "; "));
  const auto more = beside.empty() ? "" : " (" + join(beside, "; ") + ")";
  const std::string verb = judgement.estimated
                               ? "is estimated " + std::string(words.verb == "is " ? "" : "at ")
                               : std::string(words.verb);
  const auto out = other + " " + verb + plain + " than " + base + more;
  return judgement.verdict == PairVerdict::unclear ? "unclear: " + out : out;
}

std::string values_text(const Metric& metric, const compare::ComparedAmount& value,
                        const compare::ComparedAmount& base, bool estimated) {
  const auto text = [&](const compare::ComparedAmount& of) {
    auto plain = *of.of(estimated);
    plain.low.reset();
    return interval_text(metric, plain);
  };
  return text(value) + " against " + text(base) + " " + metric.title;
}

// A token of a larger model is more work, so the FLOP/s of the GPUs are compared as well.
std::string work_text(const Comparison& c, const GroupComparison& against) {
  if (!contains(against.unequal, compare::Inequality::models)) return "";
  for (const auto& metric : c.metrics)
    if (const auto& judged = judgement_of(c, against, &metric);
        metric.name == "model_tflops_per_gpu" && judged.ratio)
      return ". It does " + values_text(metric, metric.values[against.group], metric.values.front(),
                                        judged.estimated);
  return "";
}

std::string groups_text(const Comparison& c, const GroupComparison& against,
                        const LeadSentence& lead) {
  const auto& metric = *lead.metric;
  const bool per_gpu = gpus_differ(c, against) && metric.name == "gpu_hours_per_1e9_tokens";
  auto words = comparative_of(metric);
  if (per_gpu) words = kPerGpu;
  auto out = clause(c, against.group, *lead.judgement, words, sizes_text(c, against.group)) + ": " +
             values_text(metric, metric.values[against.group], metric.values.front(),
                         lead.judgement->estimated);
  const auto* whole = per_gpu ? compare::headline(c) : nullptr;
  if (whole != nullptr && judgement_of(c, against, whole).ratio) {
    const auto& judged = judgement_of(c, against, whole);
    out += fmt::format(
        ". As a whole it is {}: {}", ratio_text({judged.ratio->value, {}, {}, 1}, kSpeed),
        values_text(*whole, whole->values[against.group], whole->values.front(), judged.estimated));
  }
  return out + work_text(c, against) + ".";
}

// "on 8 and 16 GPUs", if the pairs differ in that.
std::string places_text(const compare::PairedComparison& pairs) {
  Names counts;
  for (const auto& twins : pairs.pairs)
    if (twins.where.size() == 1 && twins.where[0].first == "gpus")
      counts.push_back(twins.where[0].second);
  return counts.size() == pairs.pairs.size() ? " on " + and_list(counts) + " GPUs" : "";
}

std::string pairs_text(const Comparison& c, const LeadSentence& lead) {
  const auto& pairs = *lead.pairs;
  return fmt::format("Like for like, {}: {}{}.",
                     clause(c, pairs.group, pairs.judgement, pairs.per_gpu ? kPerGpu : kSpeed, {}),
                     plural(pairs.pairs.size(), "pair"), places_text(pairs));
}

std::string best_text(const Comparison& c, const LeadSentence& lead) {
  const auto& best = *lead.best;
  Metric metric;
  metric.name = best.metric, metric.title = best.title;
  const auto values = values_text(metric, best.value, best.base, best.judgement.estimated) + " (" +
                      best.id + " against " + best.base_id + ")";
  if (!best.per_gpu)
    return "At their best, " + clause(c, best.group, best.judgement, kSpeed, {}) + ": " + values +
           ".";
  auto per_gpu = best.judgement;
  per_gpu.ratio = best.per_gpu;
  return fmt::format(
      "At their best, {}. As a whole it is {}: {}.",
      clause(c, best.group, per_gpu, kPerGpu, {best.gpus + " GPUs against " + best.base_gpus}),
      ratio_text({best.judgement.ratio->value, {}, {}, 1}, kSpeed), values);
}

std::string shared_text(const Comparison& c, const GroupComparison& against) {
  const auto other = spoken(c, against.group), base = spoken(c, 0);
  if (against.shared == SharedRecords::part)
    return fmt::format(
        "{} and {} are one run: one log is a part of the other. There is nothing to compare.",
        other, base);
  if (against.shared == SharedRecords::copy)
    return fmt::format("{} is a copy of {}: there is nothing to compare.", other, base);
  return fmt::format("{} and {} are the same {}: there is nothing to compare.", other, base,
                     against.shared == SharedRecords::record ? "record" : "records");
}

std::string ended_text(const Comparison& c, const GroupComparison& against) {
  auto out = fmt::format("{}: {}; {}: {}.", spoken(c, against.group),
                         outcome_text(c.groups[against.group]), spoken(c, 0),
                         outcome_text(c.groups.front()));
  if (against.outcome.by_chance)
    out += " Such a failure may come from the machine and not from the settings.";
  return out;
}

}  // namespace

std::string spoken(const Comparison& c, std::size_t group) {
  const auto field_of = [](const std::string& name) {
    return name.find(',') == std::string::npos ? name.substr(0, name.find('=') + 1) : "";
  };
  const auto& name = c.groups[group].name;
  const auto field = field_of(name);
  if ((field == "strategy=" || field == "framework=") &&
      std::ranges::all_of(c.groups,
                          [&](const auto& other) { return field_of(other.name) == field; }))
    return name.substr(field.size());
  return name.find('=') == std::string::npos ? name.substr(name.find_last_of('/') + 1) : name;
}

LeadSentence lead_of(const Comparison& c, const GroupComparison& against) {
  LeadSentence out;
  const auto& pairs = c.pairs[against.group - 1];
  if (pairs.judgement.verdict != PairVerdict::missing) {
    out.by = LeadSentence::LeadKind::pairs;
    out.pairs = &pairs;
    out.judgement = &pairs.judgement;
    return out;
  }
  for (const auto& best : c.best)
    if (best.group == against.group && best.judgement.ratio) {
      out.by = LeadSentence::LeadKind::best;
      out.best = &best;
      out.judgement = &best.judgement;
      return out;
    }
  out.metric = metric_of(c, against);
  if (out.metric == nullptr) return out;
  out.by = LeadSentence::LeadKind::groups;
  out.judgement = &judgement_of(c, against, out.metric);
  if (out.metric->aspect != Aspect::other) out.aspect = out.metric->aspect;
  return out;
}

std::string answer_text(const Comparison& c, const GroupComparison& against) {
  if (against.itself()) return shared_text(c, against);
  if (against.outcome.verdict != PairVerdict::missing) return ended_text(c, against);
  const auto lead = lead_of(c, against);
  if (lead.by == LeadSentence::LeadKind::pairs) return pairs_text(c, lead);
  if (lead.by == LeadSentence::LeadKind::best) return best_text(c, lead);
  if (lead.by == LeadSentence::LeadKind::groups) return groups_text(c, against, lead);
  return fmt::format("nothing that was measured or estimated of {} and {} compares.",
                     spoken(c, against.group), spoken(c, 0));
}

}  // namespace orch::findings
