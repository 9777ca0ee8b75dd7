#include "core/price/estimate/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/nearness.h"
#include "core/plan/stack.h"

namespace orch::estimate {
namespace {

// How far the fixed costs of a machine that nobody measured are off: their doubt (core/plan/tunable.cpp).
constexpr double kFixedCosts = 0.5;
constexpr double kWorthSaying = 1.5;  // times beyond

// The nearer of what the machine and the stack were measured with.
plan::Distance distance_of(const plan::Run& run, const plan::Partition& at) {
  return plan::distance_of(run, at, at.seen.rows > 0 ? &at.seen : nullptr,
                           at.on && at.on->fitted() ? &at.on->seen : nullptr);
}

void say_distance(const plan::Distance& distance, std::vector<std::string>& out) {
  std::vector<std::string> parts;
  const auto add = [&](double times, const char* what) {
    if (times >= kWorthSaying)
      parts.push_back(times < 99.5 ? fmt::format("{:.2g}x in {}", times, what)
                                   : fmt::format("{:.0f}x in {}", times, what));
  };
  add(distance.gpus, "GPUs");
  add(distance.params, "parameters");
  add(distance.tokens, "tokens of a micro-batch");
  add(distance.tensor, "nodes of a tensor-parallel group");
  add(distance.micro_batches, "fewer micro-batches");
  if (!parts.empty()) out.push_back("extrapolated " + join(parts, ", "));
}

}  // namespace

Spread spread_of(const plan::Run& run, const plan::Partition& at, double fixed_share) {
  const auto& efficiency = at.efficiency;
  Spread out{efficiency.time_spread.value, efficiency.memory_spread.value};
  if (at.on && at.on->fitted() && at.seen.rows == 0)
    out.time = std::hypot(out.time, kFixedCosts * fixed_share);
  const auto far = distance_of(run, at);
  if (!far.none()) out.time = std::hypot(out.time, far.doubt());
  return out;
}

void add_ranges(const plan::Run& run, const plan::Partition& at, plan::Estimate& out) {
  const auto spread = spread_of(run, at, out.fixed_share);
  const double time = std::exp(kNineOfTen * spread.time);
  const double memory = std::exp(kNineOfTen * spread.memory);
  out.step_low = out.step_seconds / time;
  out.step_high = out.step_seconds * time;
  out.memory_low = out.peak_memory / memory;
  out.memory_high = out.peak_memory * memory;
}

void add_remarks(const plan::Run& run, const plan::Partition& at, plan::Estimate& out) {
  if (!at.on) return;
  out.stack = at.on->name;
  out.remarks.clear();
  if (!run.stack.empty() && run.stack != plan::default_stack(run) && run.stack != at.on->name)
    out.remarks.push_back(fmt::format("no stack is called '{}'", printable(run.stack)));
  const auto machine = [&] { return run.cluster->name + "/" + run.partition->name; };
  if (!at.on->fitted())
    out.remarks.push_back("no row of " + at.on->name + " was fitted");
  else if (at.seen.rows == 0)
    out.remarks.push_back("no row of " + machine() + " was fitted");
  else if (plan::never_together(at, *at.on))
    out.remarks.push_back("no row of " + machine() + " ran " + at.on->name);
  say_distance(distance_of(run, at), out.remarks);
  const auto of_stack = plan::unseen(run, at.on->seen), there = plan::unseen(run, at.seen);
  double spread = spread_of(run, at, out.fixed_share).time;
  for (const auto& setting : of_stack) {
    out.remarks.push_back("no row of " + at.on->name + " had " + setting);
    spread = std::hypot(spread, plan::kUnseenInStack);
  }
  for (const auto& setting : there)
    if (!contains(of_stack, setting)) {
      out.remarks.push_back("no row of this machine had " + setting);
      spread = std::hypot(spread, plan::kUnseenThere);
    }
  const double times = std::exp(kNineOfTen * spread);
  out.step_low = out.step_seconds / times;
  out.step_high = out.step_seconds * times;
}

}  // namespace orch::estimate
