#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/text.h"
#include "core/show/compare/parts.h"

namespace orch::compare {
namespace {

using statistics::Interval;

struct Words {
  std::string_view better, worse, same;
};

Words words_of(const Metric& metric) {
  if (metric.aspect == Aspect::memory) return {"less memory", "more memory", "as much memory"};
  if (metric.name == "gpu_hours_per_1e9_tokens")
    return {"fewer GPU-hours", "more GPU-hours", "as many GPU-hours"};
  if (metric.aspect == Aspect::other)
    return metric.better == Better::lower ? Words{"lower", "higher", "the same"}
                                          : Words{"higher", "lower", "the same"};
  if (!metric.convention.empty()) return {"more TFLOPs", "fewer TFLOPs", "as many TFLOPs"};
  return {"faster", "slower", "as fast"};
}

// Above 1 where the other one is better.
Interval favour(const Metric& metric, const Interval& base, const Interval& other) {
  return metric.better == Better::lower ? statistics::ratio(base, other)
                                        : statistics::ratio(other, base);
}

double size_of(const Interval& ratio) { return std::max(ratio.value, 1 / ratio.value); }
bool contains_one(const Interval& ratio) { return *ratio.low <= 1 && *ratio.high >= 1; }

std::string times(double factor) {
  return fmt::format("{:.{}f}", factor, factor < 10 ? 2 : factor < 100 ? 1 : 0);
}

bool rounds_to_one(double factor) { return std::abs(factor - 1) < 0.005; }

// With its limits, where it has some.
bool is_the_same(const Interval& ratio) {
  return rounds_to_one(ratio.value) &&
         (!ratio.has_limits() || (rounds_to_one(*ratio.low) && rounds_to_one(*ratio.high)));
}

// "1.36x faster (1.33 to 1.39)"; what rounds to 1.00 is neither faster nor slower.
std::string ratio_text(const Interval& ratio, const Words& words) {
  if (is_the_same(ratio)) return fmt::format("{} to within 0.5 %", words.same);
  const bool better = ratio.value >= 1;
  auto out = rounds_to_one(ratio.value) ? std::string(words.same)
                                        : fmt::format("{}x {}", times(size_of(ratio)),
                                                      better ? words.better : words.worse);
  if (!ratio.has_limits()) return out;
  const double low = better ? *ratio.low : 1 / *ratio.high;
  const double high = better ? *ratio.high : 1 / *ratio.low;
  return out + fmt::format(" ({} to {})", times(low), times(high));
}

bool ranges_overlap(const Value& a, const Value& b) {
  const auto low = [](const Value& v) { return v.lowest.value_or(v.measured->value); };
  const auto high = [](const Value& v) { return v.highest.value_or(v.measured->value); };
  return low(a) <= high(b) && low(b) <= high(a);
}

Verdict side(const Interval& ratio) { return ratio.value >= 1 ? Verdict::better : Verdict::worse; }

// What two measured values come to; the text without its reservations.
struct Ruling {
  Verdict verdict;
  std::string text;
};

Ruling rule_mixture(const Value& base, const Value& other, const Interval& ratio,
                    const std::string& said) {
  if (ranges_overlap(base, other))
    return {Verdict::unclear, said + " by the medians of a mixture, but the ranges overlap"};
  if (size_of(ratio) < 1 + kRepeatsDiffer)
    return {Verdict::no_difference, "no detectable difference: " + said +
                                        ", and repeats of one configuration differ by that much"};
  return {side(ratio), said + " by the medians of a mixture: no interval"};
}

Ruling rule_single(const Value& base, const Value& other, const Interval& ratio,
                   const std::string& said) {
  const bool both = !base.measured->has_limits() && !other.measured->has_limits();
  const std::string single = both ? "single values" : "one of the two is a single value";
  if (size_of(ratio) < 1 + kRepeatsDiffer)
    return {Verdict::no_difference, "no detectable difference: " + single + " (" + said +
                                        "), and repeats of one configuration differ by that much"};
  return {side(ratio), said + "; " + single + ": no interval"};
}

Ruling rule(const Value& base, const Value& other, const Interval& ratio, const Words& words) {
  const auto said = ratio_text(ratio, words);
  if (base.lowest || other.lowest) return rule_mixture(base, other, ratio, said);
  if (!ratio.has_limits()) return rule_single(base, other, ratio, said);
  if (contains_one(ratio) || is_the_same(ratio))
    return {Verdict::no_difference, "no detectable difference: " + said};
  const bool one_run = base.runs == 1 || other.runs == 1;
  if (one_run && size_of(ratio) < 1 + kRepeatsDiffer)
    return {Verdict::unclear, said +
                                  " in these runs, but repeats of one configuration differ by "
                                  "that much: repeat them to know"};
  return {side(ratio), said};
}

Ruling rule_estimates(const Interval& ratio, const Words& words) {
  const auto said = "estimated: " + ratio_text(ratio, words);
  if (ratio.has_limits() && contains_one(ratio))
    return {Verdict::unclear, said + ", within what estimates can be wrong"};
  return {side(ratio), said};
}

std::string missing_text(const Metric& metric, const Value& base, const Value& other) {
  const auto lacks = [](const Value& v) { return !v.measured && !v.estimated; };
  if (lacks(base) && lacks(other)) return "neither has it";
  if (!metric.convention.empty())
    return "only one of the two has TFLOPs by this convention; others never compare with it";
  if (lacks(base) || lacks(other)) return "only one of the two has it";
  return "measured in one and only estimated in the other";
}

void add_doubts(const Value& base, const Value& other, Judgement& out) {
  auto ids = base.doubtful;
  ids.insert(ids.end(), other.doubtful.begin(), other.doubtful.end());
  if (ids.empty() || out.estimated) return;
  out.doubtful = true;
  out.text += "; doubtful, as it rests on " + first_of(ids, 3);
}

bool within(double value, const Interval& range) {
  return value >= *range.low && value <= *range.high;
}

// Whether a measured value lies in the range of its own estimate.
bool holds(const Value& value) {
  return value.estimated->has_limits() && within(value.measured->value, *value.estimated);
}

std::optional<bool> as_predicted(const Value& base, const Value& other, const Judgement& found) {
  if (!found.predicted || !found.predicted->has_limits()) return std::nullopt;
  if (!within(found.ratio->value, *found.predicted)) return false;
  const bool decided = found.verdict == Verdict::better || found.verdict == Verdict::worse;
  const bool same_side = (found.ratio->value >= 1) == (found.predicted->value >= 1);
  if (decided && same_side && holds(base) && holds(other)) return true;
  return std::nullopt;
}

}  // namespace

std::string speed_text(const Interval& ratio) { return ratio_text(ratio, words_of({})); }

Judgement judge(const Metric& metric, std::size_t group, const std::string& not_comparable) {
  const auto& base = metric.values.front();
  const auto& other = metric.values[group];
  const auto words = words_of(metric);
  Judgement out;
  if (base.estimated && other.estimated)
    out.predicted = favour(metric, *base.estimated, *other.estimated);
  const bool measured = base.measured && other.measured;
  if (!measured && !out.predicted) {
    out.text = missing_text(metric, base, other);
    if (!metric.convention.empty()) out.verdict = Verdict::not_comparable;
    return out;
  }
  if (!not_comparable.empty()) {
    out.verdict = Verdict::not_comparable;
    out.text = not_comparable;
    out.predicted.reset();
    return out;
  }
  out.estimated = !measured;
  out.ratio = measured ? favour(metric, *base.measured, *other.measured) : *out.predicted;
  const auto ruling =
      measured ? rule(base, other, *out.ratio, words) : rule_estimates(*out.ratio, words);
  out.verdict = ruling.verdict;
  out.text = ruling.text;
  if (measured) out.as_predicted = as_predicted(base, other, out);
  add_doubts(base, other, out);
  return out;
}

bool same_within_noise(const Metric& metric, std::size_t a, std::size_t b, bool estimated) {
  const auto &left = metric.values[a], &right = metric.values[b];
  const auto ratio = favour(metric, *left.of(estimated), *right.of(estimated));
  const auto ruling = estimated ? rule_estimates(ratio, {}) : rule(left, right, ratio, {});
  return ruling.verdict == Verdict::no_difference || ruling.verdict == Verdict::unclear;
}

}  // namespace orch::compare
