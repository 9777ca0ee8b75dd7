#include "core/record/statistics/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orch::statistics {
namespace {

using Steps = std::vector<TimedStep>;

constexpr double kSpreads = 5;
constexpr double kOddShare = 0.05;
constexpr std::size_t kMostOdd = 20;

std::vector<double> seconds_of(Steps::const_iterator from, Steps::const_iterator to) {
  std::vector<double> out;
  for (auto step = from; step != to; ++step) out.push_back(step->seconds);
  return out;
}

// The distance from the median beyond which a value is an outlier.
double reach(const std::vector<double>& values, double middle, double least_share) {
  return std::max(kSpreads * spread(values), least_share * std::abs(middle));
}

// The steps that are left out, by reason.
struct DroppedSteps {
  std::vector<std::int64_t> first;  // after a start
  std::vector<std::int64_t> slow;   // right after the first ones
  std::size_t ignored = 0;          // number without a time

  std::size_t warmup() const { return first.size() + slow.size(); }
};

// The end of the slow steps after the first of a start; from there on steps count.
Steps::const_iterator warm(Steps::const_iterator first, Steps::const_iterator end) {
  const auto most = std::max<std::ptrdiff_t>(1, (end - first) / 2);
  const auto later = seconds_of(first + (end - first) / 2, end);
  const double middle = median(later);
  const double limit = middle + reach(later, middle, kOddShare);
  auto step = first + 1;
  while (step - first < most && step->seconds > limit) ++step;
  return step;
}

Steps warmed_up(const Steps& steps, DroppedSteps& dropped) {
  Steps used;
  for (auto begin = steps.begin(); begin != steps.end();) {
    const auto end =
        std::find_if(begin + 1, steps.end(), [](const TimedStep& step) { return step.first; });
    const auto from = begin->first ? warm(begin, end) : begin;
    for (auto step = begin; step != from; ++step)
      (step == begin ? dropped.first : dropped.slow).push_back(step->step);
    used.insert(used.end(), from, end);
    begin = end;
  }
  return used;
}

std::string numbers(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t kMost = 5;
  const auto shown = std::vector(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), kMost)));
  return fmt::format("{}{}", fmt::join(shown, ", "), steps.size() > kMost ? ", ..." : "");
}

std::string dropped_words(const DroppedSteps& dropped) {
  if (dropped.first.empty()) return "nothing dropped";
  if (dropped.warmup() == 1)
    return fmt::format("step {} dropped (first after a start)", dropped.first.front());
  auto text = fmt::format("{} steps dropped (first after a start: {}", dropped.warmup(),
                          numbers(dropped.first));
  if (!dropped.slow.empty()) text += fmt::format("; slow ones after it: {}", numbers(dropped.slow));
  return text + ")";
}

std::string rule_words(const StepWindow& window, const DroppedSteps& dropped) {
  auto text = dropped_words(dropped);
  if (window.used == 1)
    text += fmt::format("; 1 step used: {}", window.first);
  else
    text += fmt::format("; {} steps used: {} to {}", window.used, window.first, window.last);
  if (dropped.ignored > 0) text += fmt::format("; {} without a valid time", dropped.ignored);
  return text;
}

StepWindow window_of(const Steps& used, const DroppedSteps& dropped) {
  const auto [first, last] =
      std::minmax_element(used.begin(), used.end(),
                          [](const TimedStep& a, const TimedStep& b) { return a.step < b.step; });
  StepWindow window{first->step, last->step, used.size(), dropped.warmup(), {}};
  window.rule = rule_words(window, dropped);
  return window;
}

void find_odd(const Steps& used, const std::vector<double>& seconds, StepTimes& out) {
  const double middle = out.seconds.value;
  const double limit = reach(seconds, middle, kOddShare);
  for (const auto& step : used)
    if (std::abs(step.seconds - middle) > limit)
      out.odd.push_back({step.step, step.seconds, step.seconds / middle});
  out.odd_count = out.odd.size();
  std::stable_sort(out.odd.begin(), out.odd.end(), [&](const OutlierStep& a, const OutlierStep& b) {
    return std::abs(a.seconds - middle) > std::abs(b.seconds - middle);
  });
  out.odd.resize(std::min(out.odd.size(), kMostOdd));
}

}  // namespace

StepTimes step_times(const std::vector<TimedStep>& all) {
  auto steps = all;
  std::erase_if(steps, [](const TimedStep& step) {
    return !std::isfinite(step.seconds) || step.seconds <= 0;
  });
  DroppedSteps dropped;
  StepTimes out;
  if (steps.empty()) {
    out.window.rule = all.empty() ? "no steps" : "no step with a valid time";
    return out;
  }
  auto used = warmed_up(steps, dropped);
  if (used.empty()) {  // if each is the first after a start, slow ones are better than none
    used = steps;
    dropped = {};
  }
  dropped.ignored = all.size() - steps.size();
  const auto seconds = seconds_of(used.begin(), used.end());
  out.seconds = median_interval(seconds);
  out.window = window_of(used, dropped);
  out.dropped = dropped.first;
  out.dropped.insert(out.dropped.end(), dropped.slow.begin(), dropped.slow.end());
  find_odd(used, seconds, out);
  return out;
}

std::vector<std::size_t> outliers(const std::vector<double>& values, double least_share) {
  auto finite = values;
  std::erase_if(finite, [](double value) { return !std::isfinite(value); });
  if (finite.size() < 4) return {};
  const double middle = median(finite);
  const double limit = reach(finite, middle, least_share);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && std::abs(values[i] - middle) > limit) places.push_back(i);
  return places;
}

}  // namespace orch::statistics
