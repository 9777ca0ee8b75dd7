#include "core/plan/stack.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/plan/tunable.h"

namespace orch::plan {
namespace {

// How far software, and a machine, are off that nobody ever measured: standard deviations of the
// logarithm. Assumed: no fit has decided these yet.
constexpr double kUnknownStack = 0.2;
constexpr double kUnknownMachine = 0.12;

// Software is some two years younger than the machine that it runs on.
constexpr double kYounger = 2;
constexpr double kNewest = 9999;

double combined(const Constant& machine, const Constant* stack, double assumed) {
  const bool known = machine.origin.starts_with("fitted:");
  const double stacks = stack ? stack->value : kUnknownStack;
  if (known && stack) return std::max(machine.value, stacks);
  const double machines = known ? machine.value : stack ? kUnknownMachine : assumed;
  return std::hypot(machines, stacks);
}

void set_spread(Constant Efficiency::*member, const char* name, const Stack& stack,
                Efficiency& out) {
  const auto found = stack.constants.find(name);
  const auto* own = found == stack.constants.end() ? nullptr : &found->second;
  auto& spread = out.*member;
  if (!own && !spread.origin.starts_with("fitted:")) return;  // assumed, of whatever is unknown
  spread.value = std::min(1.0, combined(spread, own, spread.value));
  if (own) spread.origin = own->origin;
}

bool stands_for(const Stack& stack, const std::string& strategy, const std::string& engine) {
  const auto is = [&](const std::string& what) {
    return what == strategy || what == strategy + "/" + engine;
  };
  return std::any_of(stack.runs.begin(), stack.runs.end(), is);
}

const OnStack* named(const Partition& partition, std::string_view name) {
  for (const auto& each : partition.stacks)
    if (each.stack->name == name) return &each;
  return nullptr;
}

}  // namespace

double years_of(std::string_view date) {
  if (date.size() < 4) return 0;
  const double year = std::atof(std::string(date.substr(0, 4)).c_str());
  const double month = date.size() < 7 ? 6.5 : std::atof(std::string(date.substr(5, 2)).c_str());
  return year + (month - 1) / 12;
}

Partition on_stack(const Partition& machine, const StackPtr& on) {
  const auto& stack = *on;
  auto out = machine;
  out.on = on;
  out.calibration.reset();
  out.stacks.clear();
  for (const auto& [name, factor] : stack.constants) {
    const auto* tunable = find_tunable(name);
    if (!tunable || tunable->stack_doubt == 0) continue;
    auto& constant = tunable->in(out);
    constant.value = std::clamp(constant.value * factor.value, tunable->min, tunable->max);
    constant.origin += "; of " + stack.name + ", " + factor.origin;
  }
  set_spread(&Efficiency::time_spread, "time_spread", stack, out.efficiency);
  set_spread(&Efficiency::memory_spread, "memory_spread", stack, out.efficiency);
  return out;
}

const OnStack* stack_of(const Run& run) {
  const auto& partition = *run.partition;
  if (run.stack != default_stack(run))
    if (const auto* asked = named(partition, run.stack)) return asked;
  const auto engine = run.text_setting("engine");
  const auto released = static_cast<double>(partition.gpu.released);
  const double wanted = released > 0 ? released + kYounger : kNewest;
  const OnStack* best = nullptr;
  double least = 0;
  for (const auto& each : partition.stacks) {
    if (!each.stack->tuned || !stands_for(*each.stack, run.strategy->name, engine)) continue;
    const double off = std::abs(years_of(each.stack->date) - wanted);
    if (!best || off < least) best = &each, least = off;
  }
  return best;
}

const Partition& priced_at(const Run& run) {
  const auto* found = stack_of(run);
  return found ? *found->partition : run.partition->as_measured();
}

}  // namespace orch::plan
