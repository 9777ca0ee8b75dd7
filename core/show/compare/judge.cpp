#include <algorithm>
#include <cmath>

#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using statistics::Interval;

// The ratio that is above 1 if `other` is better.
Interval favour(const Metric& metric, const Interval& base, const Interval& other) {
  return metric.better == Better::lower ? statistics::ratio(base, other)
                                        : statistics::ratio(other, base);
}

double size_of(const Interval& ratio) { return std::max(ratio.value, 1 / ratio.value); }
bool contains_one(const Interval& ratio) { return *ratio.low <= 1 && *ratio.high >= 1; }

bool ranges_overlap(const ComparedAmount& a, const ComparedAmount& b) {
  const auto low = [](const ComparedAmount& v) { return v.lowest.value_or(v.measured->value); };
  const auto high = [](const ComparedAmount& v) { return v.highest.value_or(v.measured->value); };
  return low(a) <= high(b) && low(b) <= high(a);
}

struct JudgedPair {
  PairVerdict verdict;
  VerdictReason reason = VerdictReason::none;
};

PairVerdict side(const Interval& ratio) {
  return ratio.value >= 1 ? PairVerdict::better : PairVerdict::worse;
}

// The verdict on a ratio without an interval: it has to exceed the variation between repeats.
PairVerdict beyond_repeats(const Interval& ratio) {
  return size_of(ratio) < 1 + kRepeatsDiffer ? PairVerdict::no_difference : side(ratio);
}

JudgedPair rule(const ComparedAmount& base, const ComparedAmount& other, const Interval& ratio) {
  if (base.lowest || other.lowest) {
    if (ranges_overlap(base, other)) return {PairVerdict::unclear, VerdictReason::ranges_overlap};
    return {beyond_repeats(ratio), VerdictReason::medians};
  }
  if (!ratio.has_limits()) {
    const bool both = !base.measured->has_limits() && !other.measured->has_limits();
    return {beyond_repeats(ratio),
            both ? VerdictReason::single_values : VerdictReason::one_single_value};
  }
  if (contains_one(ratio) || rounds_to_one(ratio)) return {PairVerdict::no_difference};
  const bool one_run = base.runs == 1 || other.runs == 1;
  if (one_run && size_of(ratio) < 1 + kRepeatsDiffer)
    return {PairVerdict::unclear, VerdictReason::few_runs};
  return {side(ratio)};
}

JudgedPair rule_estimates(const Interval& ratio) {
  return {ratio.has_limits() && contains_one(ratio) ? PairVerdict::unclear : side(ratio)};
}

JudgedPair missing(const Metric& metric, const ComparedAmount& base, const ComparedAmount& other) {
  const auto lacks = [](const ComparedAmount& v) { return !v.measured && !v.estimated; };
  const auto verdict =
      metric.convention.empty() ? PairVerdict::missing : PairVerdict::not_comparable;
  if (lacks(base) && lacks(other)) return {verdict, VerdictReason::neither};
  if (!metric.convention.empty()) return {verdict, VerdictReason::one_convention};
  return {verdict,
          lacks(base) || lacks(other) ? VerdictReason::only_one : VerdictReason::one_estimated};
}

bool within(double value, const Interval& range) {
  return value >= *range.low && value <= *range.high;
}

// True if the measured value is in the range of its own estimate.
bool holds(const ComparedAmount& value) {
  return value.estimated->has_limits() && within(value.measured->value, *value.estimated);
}

std::optional<bool> as_predicted(const ComparedAmount& base, const ComparedAmount& other,
                                 const Judgement& found) {
  if (!found.predicted || !found.predicted->has_limits()) return std::nullopt;
  if (!within(found.ratio->value, *found.predicted)) return false;
  const bool same_side = (found.ratio->value >= 1) == (found.predicted->value >= 1);
  if (found.is_decided() && same_side && holds(base) && holds(other)) return true;
  return std::nullopt;
}

}  // namespace

bool rounds_to_one(const Interval& ratio) {
  const auto near = [](double factor) { return std::abs(factor - 1) < 0.005; };
  return near(ratio.value) && (!ratio.has_limits() || (near(*ratio.low) && near(*ratio.high)));
}

Judgement judge(const Metric& metric, std::size_t group, VerdictReason not_comparable) {
  const auto& base = metric.values.front();
  const auto& other = metric.values[group];
  Judgement out;
  const auto end = [&out](const JudgedPair& ruling) {
    out.verdict = ruling.verdict;
    out.reason = ruling.reason;
    return out;
  };
  const bool measured = base.measured && other.measured;
  const bool estimated = base.estimated && other.estimated;
  if (!measured && !estimated) return end(missing(metric, base, other));
  if (not_comparable != VerdictReason::none)
    return end({PairVerdict::not_comparable, not_comparable});
  if (estimated) out.predicted = favour(metric, *base.estimated, *other.estimated);
  out.estimated = !measured;
  out.ratio = measured ? favour(metric, *base.measured, *other.measured) : *out.predicted;
  if (!measured) return end(rule_estimates(*out.ratio));
  end(rule(base, other, *out.ratio));
  out.as_predicted = as_predicted(base, other, out);
  out.doubtful = base.doubtful;
  out.doubtful.insert(out.doubtful.end(), other.doubtful.begin(), other.doubtful.end());
  return out;
}

bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated) {
  const auto &left = metric.values[a], &right = metric.values[b];
  const auto ratio = favour(metric, *left.of(estimated), *right.of(estimated));
  const auto verdict = (estimated ? rule_estimates(ratio) : rule(left, right, ratio)).verdict;
  return verdict == PairVerdict::no_difference || verdict == PairVerdict::unclear;
}

}  // namespace orch::compare
