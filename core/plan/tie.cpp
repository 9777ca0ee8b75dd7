#include "core/plan/tie.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace orch::plan {
namespace {

// Of the log of a ratio on one machine, how much of the two spreads is left.
constexpr double kLeftInOneStack = 0.35, kLeftBetweenStacks = 0.85;

}  // namespace

Timing timing_of(const Estimate& estimate, const Partition* machine) {
  Timing out;
  out.days = estimate.days_to_train;
  // The nearer end: what other software would take widens a range, and is not chance.
  out.spread = std::min(std::log(estimate.step_high / estimate.step_seconds),
                        std::log(estimate.step_seconds / estimate.step_low));
  out.machine = machine;
  if (!estimate.stack.empty()) out.stack = std::hash<std::string>()(estimate.stack) | 1;
  return out;
}

TimesAsLong times_as_long(const Timing& a, const Timing& b) {
  TimesAsLong out;
  out.on_one_machine =
      a.machine != nullptr && a.machine == b.machine && a.stack != 0 && b.stack != 0;
  const double left = a.stack == b.stack ? kLeftInOneStack : kLeftBetweenStacks;
  const double reach =
      out.on_one_machine ? left * std::hypot(a.spread, b.spread) : a.spread + b.spread;
  out.value = a.days / b.days;
  out.low = out.value * std::exp(-reach);
  out.high = out.value * std::exp(reach);
  return out;
}

bool may_be_equal(const Timing& a, const Timing& b) {
  const auto ratio = times_as_long(a, b);
  return ratio.low <= 1 && ratio.high >= 1;
}

std::vector<std::size_t> size_classes(const std::vector<double>& params) {
  constexpr double kSame = 1.1;
  std::vector<std::size_t> order(params.size()), classes(params.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return params[a] < params[b]; });
  std::size_t current = 0;
  double smallest = order.empty() ? 0 : params[order.front()];
  for (const auto i : order) {
    if (params[i] > kSame * smallest) {
      ++current;
      smallest = params[i];
    }
    classes[i] = current;
  }
  return classes;
}

}  // namespace orch::plan
