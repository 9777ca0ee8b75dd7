#include "core/price/estimate/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/stack.h"

namespace orch::estimate {
namespace {

using plan::Seen;

// What a doubling beyond the rows adds to the spread. Assumed: no fit has decided these yet.
constexpr double kPerOctaveOfGpus = 0.06;
constexpr double kPerOctaveOfParams = 0.03;
constexpr double kPerOctaveOfTokens = 0.04;
// Of fewer micro-batches in a step than any row had: more of it is its end, which those rows hardly tell.
// Assumed, as GPUs.
constexpr double kPerOctaveOfMicroBatches = 0.06;
// Of nodes that a tensor-parallel group lies on: nanotron's rows of 2 and 4 were 0.6 and 1.2 off where
// no row told of them, those inside a node 0.3.
constexpr double kPerOctaveOfTensor = 0.3;
// What a setting adds that no row of the machine, or of the stack, had. Assumed as well.
constexpr double kUnseenThere = 0.05, kUnseenInStack = 0.1;
// How far the fixed costs of a machine that nobody measured are off: their doubt (core/plan/tunable.cpp).
constexpr double kFixedCosts = 0.5;
constexpr double kWorthSaying = 1.5;  // times beyond

double tokens_of(const plan::Run& run) {
  return static_cast<double>(run.batch.micro_batch * run.model.seq) /
         static_cast<double>(run.layout.context_parallel);
}

// How many times beyond the span, either way; 1 inside it or where there is none.
double times_beyond(const Seen::Span& span, double value) {
  if (span.high == 0 || value <= 0) return 1;
  return std::max({1.0, value / span.high, span.low / value});
}

// The nearer of what the machine and the stack were measured with.
struct Distance {
  double gpus = 1, params = 1, tokens = 1, tensor = 1, micro_batches = 1;
  bool none() const {
    return gpus == 1 && params == 1 && tokens == 1 && tensor == 1 && micro_batches == 1;
  }
};

// Rows that do not say it stayed inside a node, as nearly all do.
double beyond_tensor(double nodes, const Seen* machine, const Seen* stack) {
  double known = 1;
  for (const auto* seen : {machine, stack})
    if (seen) known = std::max(known, seen->tensor_nodes.high);
  return std::max(1.0, nodes / known);
}

// What the end of a step takes is the machine's, where it has rows.
double below(const Seen* seen, double micro_batches) {
  return seen ? std::max(1.0, seen->micro_batches.low / micro_batches) : 1;
}

Distance distance_of(const plan::Run& run, const plan::Partition& at) {
  const auto* stack = at.on && at.on->fitted() ? &at.on->seen : nullptr;
  const auto* machine = at.seen.rows > 0 ? &at.seen : nullptr;
  const auto least = [&](Seen::Span Seen::*span, double value) {
    const double there = machine ? times_beyond(machine->*span, value) : 0;
    const double of_stack = stack ? times_beyond(stack->*span, value) : 0;
    if (there == 0 || of_stack == 0) return std::max({1.0, there, of_stack});
    return std::min(there, of_stack);
  };
  return {least(&Seen::gpus, static_cast<double>(run.gpus)),
          least(&Seen::params, run.model.params()), least(&Seen::tokens, tokens_of(run)),
          beyond_tensor(plan::tensor_nodes(run, at), machine, stack),
          below(machine ? machine : stack, static_cast<double>(run.batch.accumulate))};
}

// Settings of the run that none of the rows had.
std::vector<std::string> unseen(const plan::Run& run, const Seen& seen) {
  std::vector<std::string> out;
  for (const auto& [name, values] : seen.settings) {
    const auto& value = run.setting(name);
    if (!plan::is_given(value)) continue;
    const auto word = plan::plain(value);
    if (!contains(values, word))
      out.push_back(name + " = " + word);
  }
  return out;
}

void say_distance(const Distance& distance, std::vector<std::string>& out) {
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

double squared(double value) { return value * value; }

}  // namespace

Spread spread_of(const plan::Run& run, const plan::Partition& at, double fixed_share) {
  const auto& efficiency = at.efficiency;
  Spread out{efficiency.time_spread.value, efficiency.memory_spread.value};
  if (at.on && at.on->fitted() && at.seen.rows == 0)
    out.time = std::hypot(out.time, kFixedCosts * fixed_share);
  const auto far = distance_of(run, at);
  if (far.none()) return out;
  out.time = std::sqrt(squared(out.time) + squared(kPerOctaveOfGpus * std::log2(far.gpus)) +
                       squared(kPerOctaveOfParams * std::log2(far.params)) +
                       squared(kPerOctaveOfTokens * std::log2(far.tokens)) +
                       squared(kPerOctaveOfTensor * std::log2(far.tensor)) +
                       squared(kPerOctaveOfMicroBatches * std::log2(far.micro_batches)));
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
  const auto of_stack = unseen(run, at.on->seen), there = unseen(run, at.seen);
  double spread = spread_of(run, at, out.fixed_share).time;
  for (const auto& setting : of_stack) {
    out.remarks.push_back("no row of " + at.on->name + " had " + setting);
    spread = std::hypot(spread, kUnseenInStack);
  }
  for (const auto& setting : there)
    if (!contains(of_stack, setting)) {
      out.remarks.push_back("no row of this machine had " + setting);
      spread = std::hypot(spread, kUnseenThere);
    }
  const double times = std::exp(kNineOfTen * spread);
  out.step_low = out.step_seconds / times;
  out.step_high = out.step_seconds * times;
}

}  // namespace orch::estimate
