#include "core/plan/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/text.h"
#include "core/plan/tunable.h"

namespace orch::plan {
namespace {

// How far a machine, and software, are off that nobody ever measured, and software on a machine where
// it was never seen though both were: standard deviations of the logarithm. By whole sources left out
// (core/decisions/calibration.md).
struct Doubts {
  double machine, stack, apart;
};
constexpr Doubts kTimeDoubts{0.2, 0.45, 0.25};
constexpr Doubts kMemoryDoubts{0.1, 0.1, 0};

// Software is some two years younger than the machine that it runs on.
constexpr double kYounger = 2;
constexpr double kNewest = 9999;

// Of two that were fitted, the larger counts; what was never measured is doubted besides.
void set_spread(Constant& spread, const char* name, const Stack& stack, bool apart,
                const Doubts& doubts) {
  const auto found = stack.constants.find(name);
  const auto* own = found == stack.constants.end() ? nullptr : &found->second;
  const bool known = spread.origin.starts_with("fitted:");
  const double machines = known ? spread.value : doubts.machine;
  const double stacks = own ? own->value : doubts.stack;
  const double both = known && own ? std::hypot(std::max(machines, stacks), apart ? doubts.apart : 0)
                                   : std::hypot(machines, stacks);
  spread.value = std::min(1.0, both);
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

Partition calibrated(const Partition& machine, const Calibration& calibration) {
  auto out = machine;
  out.calibration.reset();
  out.stacks.clear();
  for (const auto& [name, constant] : calibration.constants) find_tunable(name)->in(out) = constant;
  out.seen = calibration.seen;
  return out;
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
  const bool apart = never_together(machine, stack);
  set_spread(out.efficiency.time_spread, "time_spread", stack, apart, kTimeDoubts);
  set_spread(out.efficiency.memory_spread, "memory_spread", stack, apart, kMemoryDoubts);
  return out;
}

Partition planned_on_stack(const Partition& machine, const StackPtr& stack) {
  constexpr double kBestProducts = 0.9;
  auto out = on_stack(machine, stack);
  auto& gemm = out.efficiency.gemm.value;
  gemm = std::min(gemm, std::max(machine.efficiency.gemm.value, kBestProducts));
  return out;
}

bool never_together(const Partition& machine, const Stack& stack) {
  const auto& known = machine.seen.stacks;
  return !known.empty() && !contains(known, stack.name);
}

double tensor_nodes(const Run& run, const Partition& on) {
  const auto per_node = static_cast<double>(std::max<std::int64_t>(1, on.gpus_per_node));
  return std::max(1.0, static_cast<double>(run.layout.tensor_parallel) / per_node);
}

Status check_stack(const Partition& partition, const std::string& name, const std::string& place) {
  if (partition.stacks.empty() || named(partition, name)) return {};
  const auto names =
      mapped(partition.stacks, [](const OnStack& each) { return each.stack->name; });
  const auto near = nearest(name, names);
  return Error{place, fmt::format("no stack is called '{}'", printable(name)),
               fmt::format("{}orch backends stacks lists them; one of your own is an entry of stacks.yaml "
                           "beside the experiment",
                           near ? fmt::format("did you mean '{}'? ", *near) : "")};
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
