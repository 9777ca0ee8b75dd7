#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "core/record/statistics/interval.h"
#include "core/show/compare/parts.h"

// Pairs records of two groups. The question is the set of fields with one value in the first group
// and another one in the second. Each record is compared with the records of the other group that
// have the same size (GPUs, layers, hidden, seq); two that agree in everything but the question are
// a candidate. Candidates are accepted greedily: first those without doubts, then those with the
// fewest other differences and missing settings, then the fastest. A record is in one pair at most.
namespace orch::compare {
namespace {

using record::Record;
using statistics::Interval;
using Names = std::vector<std::string>;

// True if the question is about strategies and the setting belongs to a strategy, so that it may
// differ within a pair.
bool belongs_to_strategy(const std::string& field, const Names& question) {
  static const std::set<std::string, std::less<>> kOwn{
      "strategy",          "framework",       "stage",         "zero_stage",
      "tensor_parallel",   "interleave",      "data_parallel", "pipeline_parallel",
      "sequence_parallel", "partition_method"};
  return kOwn.count(field) > 0 &&
         (contains(question, "strategy") || contains(question, "framework"));
}

// True if the values are assumed or usual defaults ("none", "1"): then a missing value on the other
// side is not a difference.
bool is_usual(const FieldValues& said) {
  static const std::set<std::string, std::less<>> kUsual{"none", "false", "0",    "1",
                                                         "off",  "adam",  "adamw"};
  return said.assumed || std::all_of(said.values.begin(), said.values.end(), [](const auto& value) {
           return kUsual.contains(lower(value));
         });
}

bool is_one_value(const FieldValues& said) { return said.values.size() == 1 && !said.partly; }

Names question_of(const Cohort& base, const Cohort& other) {
  Names out;
  for (const auto& difference : differences_of({base, other}))
    if (difference.standings[1] == FieldAgreement::differs && difference.effect.any() &&
        is_one_value(difference.said[0]) && is_one_value(difference.said[1]))
      out.push_back(difference.field);
  return out;
}

// True if two records agree in everything that can change the speed, except the question. Adds the
// tolerated differences and missing settings to the pair.
bool agree(const std::vector<Cohort>& two, const Names& question, MatchedPair& out) {
  auto differences = differences_of(two);
  find_followers(differences, 2);
  for (const auto& difference : differences) {
    const auto standing = difference.standings[1];
    if (difference.circumstance || !difference.effect.speed ||
        contains(question, difference.field) || standing == FieldAgreement::same ||
        standing == FieldAgreement::unsaid)
      continue;
    const bool own = belongs_to_strategy(difference.field, question);
    if (standing == FieldAgreement::differs) {
      if (!difference.follows[1].empty()) continue;  // its cause is judged instead
      if (!own && difference.field != "micro_batch") return false;
      out.differs.push_back(difference);
    } else {
      const auto& said = difference.said[difference.said[0].values.empty() ? 1 : 0];
      if (!own && !is_usual(said)) return false;
      if (!own) out.unsaid.push_back(difference.field);
    }
  }
  return true;
}

// Compares the speed of the two records: of the whole run, or per GPU if GPU counts differ.
std::optional<PairComparison> judge_speed(const std::vector<Cohort>& two,
                                          const SizeNormalization& sizing, bool estimated) {
  const bool per_gpu = standing_of(differences_of(two), "gpus", 1) == FieldAgreement::differs;
  const Names wanted =
      per_gpu ? Names{"gpu_hours_per_1e9_tokens"} : Names{"days_per_100b_tokens", "step_seconds"};
  for (const auto& name : wanted)
    if (auto found = duel(two, sizing, name);
        found && found->judgement.ratio && found->judgement.estimated == estimated)
      return found;
  return std::nullopt;
}

// Records with different keys cannot be a pair, which saves most of the comparisons.
std::string size_key(const Record& record, const Names& question) {
  std::string key;
  for (const std::string field : {"gpus", "layers", "hidden", "seq"})
    if (!contains(question, field)) key += record.field_text(field) + "/";
  return key;
}

struct PairMatch {
  const Record* base;
  const Record* other;
  MatchedPair twins;

  auto order() const {
    const bool estimated = twins.judgement.estimated;
    return std::tuple(!twins.judgement.doubtful.empty(), twins.differs.size(), twins.unsaid.size(),
                      twins.base.of(estimated)->value + twins.value.of(estimated)->value);
  }
};

std::vector<PairMatch> matches(const Cohort& base, const Cohort& other, const Names& question,
                               const SizeNormalization& sizing, bool estimated) {
  std::multimap<std::string, const Record*> by_size;
  for (const auto* record : other.records) by_size.emplace(size_key(*record, question), record);
  std::vector<PairMatch> out;
  for (const auto* one : base.records) {
    const auto [first, last] = by_size.equal_range(size_key(*one, question));
    for (auto at = first; at != last; ++at) {
      const std::vector<Cohort> two{{base.name, {one}}, {other.name, {at->second}}};
      if (one == at->second) continue;
      auto speed = judge_speed(two, sizing, estimated);
      MatchedPair twins{speed ? std::move(*speed) : PairComparison(), {}, {}, {}};
      if (speed && agree(two, question, twins)) out.push_back({one, at->second, std::move(twins)});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.order() < b.order(); });
  return out;
}

std::vector<PairMatch> taken_once(std::vector<PairMatch> all, const Cohort& base) {
  std::set<const Record*> taken;
  std::erase_if(all, [&](const PairMatch& one) {
    if (taken.count(one.base) > 0 || taken.count(one.other) > 0) return true;
    taken.insert({one.base, one.other});
    return false;
  });
  const auto place = [&](const PairMatch& one) {
    return std::find(base.records.begin(), base.records.end(), one.base) - base.records.begin();
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return all;
}

// Sets the fields that identify each pair: both of its records have the same value, and the value
// varies between pairs.
void name_places(std::vector<PairMatch>& all, const Names& question) {
  Cohort first{"", {}};
  for (const auto& one : all) first.records.push_back(one.base);
  auto fields = all.size() > 1 ? varying_fields(first) : Names{"gpus"};
  // These fields follow from the number of GPUs.
  if (contains(fields, "gpus"))
    std::erase_if(fields, [](const auto& field) {
      return field == "nodes" || field == "data_parallel" || field == "accumulate";
    });
  for (auto& one : all)
    for (const auto& field : fields) {
      const auto value = one.base->field_text(field);
      if (!contains(question, field) && !value.empty() && value == one.other->field_text(field))
        one.twins.where.emplace_back(field, value);
    }
}

bool same_ratio(const std::vector<MatchedPair>& pairs) {
  return pairs.size() > 1 && std::ranges::all_of(pairs, [&](const MatchedPair& twins) {
           return std::abs(std::log(twins.judgement.ratio->value /
                                    pairs[0].judgement.ratio->value)) < 5e-4;
         });
}

Judgement judge_pairs(const std::vector<MatchedPair>& pairs) {
  if (pairs.size() == 1) return pairs.front().judgement;
  std::vector<double> ratios;
  Judgement out;
  out.estimated = pairs.front().judgement.estimated;
  for (const auto& twins : pairs) {
    const auto& one = twins.judgement;
    ratios.push_back(one.ratio->value);
    out.doubtful.insert(out.doubtful.end(), one.doubtful.begin(), one.doubtful.end());
  }
  out.ratio = paired_interval(ratios);
  const bool apart = *out.ratio->low > 1 || *out.ratio->high < 1;
  out.verdict = !apart                  ? PairVerdict::no_difference
                : out.ratio->value >= 1 ? PairVerdict::better
                                        : PairVerdict::worse;
  return out;
}

}  // namespace

Interval paired_interval(const std::vector<double>& ratios) {
  ORCH_CHECK(!ratios.empty(), "a ratio over no pairs");
  const auto n = static_cast<double>(ratios.size());
  double mean = 0, squares = 0;
  for (const double ratio : ratios) mean += std::log(ratio) / n;
  for (const double ratio : ratios) squares += std::pow(std::log(ratio) - mean, 2);
  Interval out{std::exp(mean), std::nullopt, std::nullopt, ratios.size()};
  if (ratios.size() < 2) return out;
  constexpr double kNormal = 1.959964;  // 95 % quantile of the normal distribution (two-sided)
  const double half = std::max(statistics::student_t(0.975, n - 1) * std::sqrt(squares / (n - 1)),
                               kNormal * std::log(1 + kRepeatsDiffer)) /
                      std::sqrt(n);
  out.low = std::exp(mean - half);
  out.high = std::exp(mean + half);
  return out;
}

PairedComparison like_for_like(const Cohort& base, const Cohort& other, std::size_t group,
                               const SizeNormalization& sizing) {
  PairedComparison out;
  out.group = group;
  if (varying_fields(base).empty() && varying_fields(other).empty()) return out;
  out.question = question_of(base, other);
  for (const bool estimated : {false, true}) {
    auto found = taken_once(matches(base, other, out.question, sizing, estimated), base);
    if (found.empty()) continue;
    name_places(found, out.question);
    for (auto& one : found) out.pairs.push_back(std::move(one.twins));
    out.per_gpu = std::any_of(out.pairs.begin(), out.pairs.end(), [](const MatchedPair& twins) {
      return twins.metric == "gpu_hours_per_1e9_tokens";
    });
    out.judgement = judge_pairs(out.pairs);
    out.same_ratio = same_ratio(out.pairs);
    break;
  }
  return out;
}

}  // namespace orch::compare
