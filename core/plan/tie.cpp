#include "core/plan/tie.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

namespace orch::plan {
namespace {

// The share of the two spreads that remains in the logarithm of a ratio of times on one machine.
constexpr double kLeftInOneStack = 0.35, kLeftBetweenStacks = 0.85;
// Half of a fitted stack's 90 % range on a machine that it was measured on. A wider range comes
// from doubt about the machine or the stack, which affects both times alike.
constexpr double kFitted = 0.3;
// The share of a wider range that differs between layouts, where they are measured (see tune).
constexpr double kOwnOfDoubt = 0.25;

}  // namespace

TimingErrors errors_of(const Timing& timing) {
  constexpr double kDeviations = 1.645;  // in half of a 90 % range
  const double all = timing.spread / kDeviations;
  if (timing.machine == nullptr || timing.stack == 0) return {0, 0, all};
  const double between = kLeftBetweenStacks * all;
  // A doubtful machine is not equally far off for all layouts: its network may be the doubt.
  const double doubt = kOwnOfDoubt * std::max(0.0, timing.spread - kFitted) / kDeviations;
  const double own =
      std::hypot(kLeftInOneStack * std::min(timing.spread, kFitted) / kDeviations, doubt);
  return {std::sqrt(std::max(0.0, all * all - between * between)),
          std::sqrt(std::max(0.0, between * between - own * own)), own};
}

Timing timing_of(const Estimate& estimate, const Partition* machine) {
  Timing out;
  out.days = estimate.days_to_train;
  // The nearer end of the range: the times of other software widen it to one side, which is not
  // noise.
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
  double reach = a.spread + b.spread;
  if (out.on_one_machine && a.stack == b.stack)
    reach = kLeftInOneStack * std::hypot(std::min(a.spread, kFitted), std::min(b.spread, kFitted));
  else if (out.on_one_machine)
    reach = kLeftBetweenStacks * std::hypot(a.spread, b.spread);
  out.value = a.days / b.days;
  out.low = out.value * std::exp(-reach);
  out.high = out.value * std::exp(reach);
  return out;
}

bool may_be_equal(const Timing& a, const Timing& b) {
  const auto ratio = times_as_long(a, b);
  return ratio.low <= 1 && ratio.high >= 1;
}

std::string machine_of(const Run& run) { return run.cluster->name + "/" + run.partition->name; }

std::vector<std::size_t> questions_of(const std::vector<const Run*>& runs) {
  std::vector<double> params;
  for (const auto* run : runs) params.push_back(run->model.params());
  const auto sizes = size_classes(params);
  std::map<std::pair<std::string_view, std::string_view>, std::size_t>
      machines;  // numbered as found
  using Key = std::tuple<std::size_t, std::int64_t, std::size_t>;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::pair machine(std::string_view(runs[i]->cluster->name),
                            std::string_view(runs[i]->partition->name));
    keys.emplace_back(sizes[i], runs[i]->model.seq,
                      machines.try_emplace(machine, machines.size()).first->second);
  }
  std::map<Key, std::size_t> numbers;
  for (const auto& key : keys) numbers[key];
  std::size_t next = 0;
  for (auto& [key, number] : numbers) number = next++;
  std::vector<std::size_t> out;
  for (const auto& key : keys) out.push_back(numbers[key]);
  return out;
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
