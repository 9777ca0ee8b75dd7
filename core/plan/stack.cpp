#include "core/plan/stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "core/base/text.h"
#include "core/plan/nearness.h"
#include "core/plan/tunable.h"

namespace orch::plan {
namespace {

// How far off an estimate is for a machine that was never measured, for software that was never
// measured, and for the two together where each was measured but never on the other: standard
// deviations of the logarithm. Found by leaving whole sources out (core/decisions/calibration.md).
struct NearnessErrors {
  double machine, stack, apart;
};
constexpr NearnessErrors kTimeDoubts{0.2, 0.45, 0.25};
constexpr NearnessErrors kMemoryDoubts{0.1, 0.1, 0};

// The doubt about software on a machine with another GPU than its rows ran on, and for each year
// between it and the time of the machine. Assumed.
constexpr double kElsewhere = 0.1, kPerYear = 0.1;

// Software is named beside an estimate if the model is larger or smaller than those of its rows by
// at most this factor: for software measured on another machine, and for software measured on this
// one.
constexpr double kSameSize = 1.5, kSameSizeHere = 4;

// Software is about two years younger than the machine that it runs on.
constexpr double kYounger = 2;
constexpr double kNewest = 9999;

// If both were fitted, the larger spread counts; what was never measured adds its doubt.
void set_spread(Constant& spread, const char* name, const Stack& stack, bool apart,
                const NearnessErrors& doubts) {
  const auto found = stack.constants.find(name);
  const auto* own = found == stack.constants.end() ? nullptr : &found->second;
  const bool known = spread.origin.starts_with("fitted:");
  const double machines = known ? spread.value : doubts.machine;
  const double stacks = own ? own->value : doubts.stack;
  const double both = known && own
                          ? std::hypot(std::max(machines, stacks), apart ? doubts.apart : 0)
                          : std::hypot(machines, stacks);
  spread.value = std::min(1.0, both);
  if (own) spread.origin = own->origin;
}

// `by` is an engine or a framework's name.
bool stands_for(const Stack& stack, std::string_view strategy, std::string_view by) {
  return std::ranges::any_of(stack.runs, [&](std::string_view what) {
    if (!what.starts_with(strategy)) return false;
    what.remove_prefix(strategy.size());
    return what.empty() || (what.starts_with('/') && what.substr(1) == by);
  });
}

// "a100" for a100-80g and a100-pcie-40g, "rtx-4090" for itself: the name up to what follows its
// first number.
std::string_view chip_of(std::string_view gpu) {
  return gpu.substr(0, gpu.find('-', gpu.find_first_of("0123456789")));
}

// The sizes of its rows on this kind of GPU; null: no row ran on one.
const SeenRanges::Sizes* sizes_on(const std::string& gpu, const Stack& stack) {
  const auto& devices = stack.seen.devices;
  if (const auto found = devices.find(gpu); found != devices.end()) return &found->second;
  for (const auto& [device, sizes] : devices)
    if (chip_of(device) == chip_of(gpu)) return &sizes;
  return nullptr;
}

bool is_here(const StackOnPartition& on) {
  return contains(on.partition->seen.stacks, on.stack->name);
}

// The years between the time of the machine and that of the software.
double years_apart(const Partition& machine, const Stack& stack) {
  const auto released = static_cast<double>(machine.gpu.released);
  return std::abs(years_of(stack.date) - (released > 0 ? released + kYounger : kNewest));
}

std::vector<const StackOnPartition*> standing_for(const Run& run, std::string_view by) {
  std::vector<const StackOnPartition*> out;
  for (const auto& each : run.partition->stacks)
    if (stands_for(*each.stack, run.strategy->name, by)) out.push_back(&each);
  return out;
}

// All stacks for the run's strategy and framework if one of these is tuned, or else its engine;
// tuned or not.
std::vector<const StackOnPartition*> standing_for(const Run& run) {
  const auto whose = run.strategy->name + "/" + framework_name(run.framework).name;
  const auto is_own = [&](const StackOnPartition* on) { return contains(on->stack->runs, whose); };
  auto own = standing_for(run, framework_name(run.framework).name);
  std::erase_if(own, std::not_fn(is_own));
  const bool tuned = std::ranges::any_of(own, [](const auto* on) { return on->stack->tuned; });
  return tuned ? own : standing_for(run, run.text_setting("engine"));
}

}  // namespace

const StackOnPartition* find_stack(const Partition& partition, std::string_view name) {
  for (const auto& each : partition.stacks)
    if (each.stack->name == name) return &each;
  return nullptr;
}

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

Status check_stack(const Partition& partition, const std::string& name, const std::string& place) {
  if (partition.stacks.empty() || find_stack(partition, name)) return {};
  const auto names =
      mapped(partition.stacks, [](const StackOnPartition& each) { return each.stack->name; });
  const auto near = nearest(name, names);
  return Error{
      place, fmt::format("no stack is called '{}'", printable(name)),
      fmt::format("{}orch backends stacks lists them; one of your own is an entry of stacks.yaml "
                  "beside the experiment",
                  near ? fmt::format("did you mean '{}'? ", *near) : "")};
}

double farness(const Run& run, const StackOnPartition& on) {
  const auto& [stack, machine] = on;
  const double date = kPerYear * years_apart(*machine, *stack);
  if (!stack->fitted()) return std::hypot(date, kTimeDoubts.stack);
  const auto* there = sizes_on(machine->gpu.name, *stack);
  Distance far;
  far.gpus = times_beyond(there ? there->gpus : stack->seen.gpus, static_cast<double>(run.gpus));
  far.params = times_beyond(there ? there->params : stack->seen.params, run.model.params());
  const double elsewhere = is_here(on) ? 0 : there ? kElsewhere : kTimeDoubts.apart;
  return std::hypot(std::hypot(date, elsewhere), far.doubt(),
                    is_unseen(run, stack->seen, "dtype") ? kUnseenInStack : 0);
}

std::vector<const StackOnPartition*> stacks_for(const Run& run) {
  if (run.stack != default_stack(run))
    if (const auto* asked = find_stack(*run.partition, run.stack)) return {asked};
  auto out = standing_for(run);
  std::erase_if(out, [](const StackOnPartition* on) { return !on->stack->tuned; });
  return out;
}

const StackOnPartition* nearest_stack(const Run& run,
                                      const std::vector<const StackOnPartition*>& among) {
  if (among.size() < 2) return among.empty() ? nullptr : among.front();
  return *std::ranges::min_element(among, {},
                                   [&](const StackOnPartition* on) { return farness(run, *on); });
}

const StackOnPartition* stack_of(const Run& run) { return nearest_stack(run, stacks_for(run)); }

const Partition& priced_at(const Run& run) {
  const auto* found = stack_of(run);
  return found ? *found->partition : run.partition->as_measured();
}

std::vector<OtherMeasuredStack> witnesses(const Run& run, const StackOnPartition& chosen) {
  std::vector<OtherMeasuredStack> out;
  if (find_stack(*run.partition, run.stack) && run.stack != default_stack(run)) return out;
  auto others = standing_for(run);
  std::erase_if(others,
                [&](const StackOnPartition* on) { return on == &chosen || !on->stack->fitted(); });
  if (others.empty()) return out;
  const double far = farness(run, chosen);
  const auto add = [&](bool here, const auto& counts) {
    auto among = others;
    std::erase_if(among, [&](const StackOnPartition* on) { return !counts(*on); });
    const auto* found = nearest_stack(run, among);
    if (found &&
        std::ranges::none_of(out, [&](const OtherMeasuredStack& w) { return w.on == found; }))
      out.push_back({found, here, farness(run, *found) < far});
  };
  const auto beyond = [&](const StackOnPartition& on) {
    return times_beyond(on.stack->seen.params, run.model.params());
  };
  add(true, [&](const StackOnPartition& on) { return is_here(on) && beyond(on) <= kSameSizeHere; });
  add(false, [&](const StackOnPartition& on) { return beyond(on) <= kSameSize; });
  return out;
}

}  // namespace orch::plan
