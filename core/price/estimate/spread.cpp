#include "core/price/estimate/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/nearness.h"
#include "core/plan/stack.h"
#include "core/plan/tie.h"

namespace orch::estimate {
namespace {

using plan::SeenRanges;

// The doubt for features that no row of any machine had: experts, context parallelism, a number
// format. Assumed: as for a machine that was never measured (core/plan/stack.cpp).
constexpr double kUnseenAnywhere = 0.2;
constexpr std::string_view kOwnKind[] = {"context_parallel", "dtype", "experts"};
// The error of the fixed costs of a machine that was never measured: their doubt
// (core/plan/tunable.cpp).
constexpr double kFixedCosts = 0.5;
// The same model with experts took from 0.65 to 1.8 of its time in one framework within a year
// (Megatron-Bridge).
constexpr double kMixtures = 0.15;
constexpr double kWorthSaying = 1.5;  // factor beyond the measured range that is mentioned

// The smaller of the distances from the machine's and the stack's rows.
plan::Distance distance_of(const plan::Run& run, const plan::Partition& at) {
  return plan::distance_of(run, at, at.seen.rows > 0 ? &at.seen : nullptr,
                           at.on && at.on->fitted() ? &at.on->seen : nullptr);
}

using Telling = std::vector<TellingSetting>;

// True if rows had the setting. Rows without the field had the usual value, as nearly all do.
bool had(const SeenRanges::Settings& settings, const TellingSetting& setting) {
  const auto found = settings.find(std::string(setting.name));
  if (found != settings.end()) return contains(found->second, setting.word);
  return setting.word == (setting.name == "context_parallel" ? "1" : "none");
}

// True if rows contain the field, but only other values.
bool lacks(const SeenRanges::Settings& settings, const TellingSetting& setting) {
  return settings.contains(std::string(setting.name)) && !had(settings, setting);
}

bool anywhere(const plan::Run& run, const plan::Partition& at, const TellingSetting& setting) {
  if (!contains(kOwnKind, setting.name)) return true;
  const auto has = [&](const SeenRanges& seen) {
    return seen.rows > 0 && had(seen.settings, setting);
  };
  return has(at.seen) || has(at.on->seen) ||
         std::ranges::any_of(run.partition->stacks,
                             [&](const auto& each) { return has(each.stack->seen); });
}

// Finds settings that rows did not have; reports each with the widest set of rows that lacks it.
void find_unseen(const plan::Run& run, const plan::Partition& at, UnseenSettings& out) {
  Telling nowhere, not_of_stack, not_there, not_together;
  const auto both = at.seen.of_stack.find(at.on->name);
  for (const auto& setting : out.settings) {
    if (!anywhere(run, at, setting))
      nowhere.push_back(setting);
    else if (lacks(at.on->seen.settings, setting))
      not_of_stack.push_back(setting);
    else if (lacks(at.seen.settings, setting))
      not_there.push_back(setting);
    else if (both != at.seen.of_stack.end() && lacks(both->second, setting))
      not_together.push_back(setting);
  }
  out.remarks.clear();
  out.doubts.clear();
  const auto doubt = [&](const std::string& rows, const Telling& settings, double more) {
    if (settings.empty()) return;
    out.remarks.push_back(fmt::format("no row of {} had {}", rows,
                                      join(mapped(settings, &TellingSetting::text), " or ")));
    out.doubts.push_back(more * std::sqrt(static_cast<double>(settings.size())));
  };
  doubt("any machine", nowhere, kUnseenAnywhere);
  doubt(at.on->name, not_of_stack, plan::kUnseenInStack);
  doubt("this machine", not_there, plan::kUnseenThere);
  doubt(at.on->name + " on this machine", not_together, plan::kUnseenThere);
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

std::vector<TellingSetting> telling_settings(const plan::Run& run) {
  static constexpr std::array<std::string_view, 9> kNames{
      "compression", "context_parallel",    "dtype",     "flash_attention",  "fp32_accumulate",
      "offload",     "offload_activations", "recompute", "sequence_parallel"};
  std::vector<TellingSetting> out;
  out.reserve(kNames.size() + 1);
  for (const auto name : kNames)
    if (const auto& value = run.setting(name); plan::is_given(value))
      out.push_back({name, plan::plain(value)});
  out.push_back({"experts", run.model.mixture() ? "some" : "none"});
  return out;
}

namespace {

// True if rows of this machine determined the factors of its software, though the machine has no
// fit of its own: then the software's spread already contains the residuals.
bool rows_of_stack(const plan::Run& run, const plan::Partition& at) {
  return at.on && run.cluster && at.seen.rows == 0 &&
         contains(at.on->seen.machines, plan::machine_of(run));
}

double left_over(const plan::Stack& stack, const char* spread, double otherwise) {
  const auto found = stack.constants.find(spread);
  return found == stack.constants.end() ? otherwise : found->second.value;
}

Spread spread_at(const plan::Run& run, const plan::Partition& at, double fixed_share) {
  Spread out{at.efficiency.time_spread.value, at.efficiency.memory_spread.value};
  if (!at.on || !at.on->fitted() || at.seen.rows > 0) return out;
  if (rows_of_stack(run, at))
    return {left_over(*at.on, "time_spread", out.time),
            left_over(*at.on, "memory_spread", out.memory)};
  out.time = std::hypot(out.time, kFixedCosts * fixed_share);
  return out;
}

}  // namespace

Spread spread_of(const plan::Run& run, const plan::Partition& at, double fixed_share) {
  auto out = spread_at(run, at, fixed_share);
  if (run.model.mixture()) out.time = std::hypot(out.time, kMixtures);
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

void add_remarks(const plan::Run& run, const plan::Partition& at, UnseenSettings& unseen,
                 plan::Estimate& out) {
  if (!at.on) return;
  out.stack = at.on->name;
  out.remarks.clear();
  if (!run.stack.empty() && run.stack != plan::default_stack(run) && run.stack != at.on->name)
    out.remarks.push_back(fmt::format("no stack is called '{}'", printable(run.stack)));
  const auto machine = [&] { return plan::machine_of(run); };
  const bool known =
      at.seen.rows > 0 || rows_of_stack(run, at) ||
      run.partition->as_measured().efficiency.time_spread.origin.starts_with("fitted:");
  if (!at.on->fitted())
    out.remarks.push_back("no row of " + at.on->name +
                          (known ? "" : ", nor of " + machine() + ",") + " was fitted");
  else if (!known)
    out.remarks.push_back("no row of " + machine() + " was fitted");
  else if (plan::never_together(at, *at.on))
    out.remarks.push_back("no row of " + machine() + " ran " + at.on->name);
  say_distance(distance_of(run, at), out.remarks);
  double spread = spread_of(run, at, out.fixed_share).time;
  auto settings = telling_settings(run);
  if (unseen.at != &at || unseen.settings != settings) {
    unseen.at = &at;
    unseen.settings = std::move(settings);
    find_unseen(run, at, unseen);
  }
  out.remarks.insert(out.remarks.end(), unseen.remarks.begin(), unseen.remarks.end());
  for (const double more : unseen.doubts) spread = std::hypot(spread, more);
  const double times = std::exp(kNineOfTen * spread);
  out.step_low = out.step_seconds / times;
  out.step_high = out.step_seconds * times;
}

}  // namespace orch::estimate
