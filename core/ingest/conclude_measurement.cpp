#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/ingest/conclude.h"

namespace orch::ingest {
namespace {

using record::Measurement;

using Counts = std::function<bool(std::int64_t)>;

// Whether a step is one of those that the time of a step is of.
Counts counts_in(const statistics::Window& window, std::vector<std::int64_t> dropped) {
  std::sort(dropped.begin(), dropped.end());
  return [window, dropped = std::move(dropped)](std::int64_t step) {
    if (window.used == 0) return true;
    return step >= window.first && step <= window.last &&
           !std::binary_search(dropped.begin(), dropped.end(), step);
  };
}

double median_tflops(const Run& run, const Counts& counts) {
  if (!run.tflops_before) return run.tflops.median(counts);
  const auto& steps = run.times.steps();
  return run.tflops.median([&](std::int64_t before) {
    const auto step = std::upper_bound(
        steps.begin(), steps.end(), before,
        [](std::int64_t wanted, const statistics::TimedStep& held) { return wanted < held.step; });
    return step != steps.end() && counts(step->step);
  });
}

void fill_rates(const Run& run, const measured::Row& row, const Counts& counts, Measurement& out) {
  if (out.step_seconds && row.gbs && row.seq && out.step_seconds->value > 0) {
    out.tokens_per_second =
        static_cast<double>(*row.gbs) * static_cast<double>(*row.seq) / out.step_seconds->value;
    out.days_per_100b_tokens = 100e9 / *out.tokens_per_second / 86400;
  }
  if (!run.tflops.empty()) out.tflops.push_back({median_tflops(run, counts), "log", false});
  if (!run.tflops_profiler.empty())
    out.tflops.push_back({run.tflops_profiler.median(), "deepspeed-profiler", false});
}

// The fullest rank, by what comes nearest to what the device really holds.
void fill_memory(const Run& run, Measurement& out) {
  const auto fullest = [&](double RankMemory::*member, const char* from) {
    std::vector<double> values;
    std::vector<std::string> ranks;
    for (const auto& [rank, memory] : run.memory) {
      if (memory.*member <= 0) continue;
      values.push_back(memory.*member);
      ranks.push_back(rank);
    }
    if (values.empty()) return false;
    out.peak_memory_bytes = *std::max_element(values.begin(), values.end());
    out.peak_memory_from = from;
    const double typical = statistics::median(values);
    for (const auto place : statistics::outliers(values))
      if (out.odd_nodes.size() < 100)
        out.odd_nodes.push_back(
            {"rank " + printable(ranks[place]), values[place], typical, "peak memory"});
    return true;
  };
  fullest(&RankMemory::max_reserved, "max reserved") ||
      fullest(&RankMemory::max_cached, "Max_CA") ||
      fullest(&RankMemory::max_allocated, "max allocated") ||
      fullest(&RankMemory::max_active, "Max_MA");
  if (run.host_memory > 0) out.host_memory_bytes = run.host_memory;
}

void find_slow_ranks(const Run& run, Measurement& out) {
  std::vector<double> means;
  std::vector<std::string> ranks;
  for (const auto& [rank, seconds] : run.rank_seconds) {
    means.push_back(seconds.sum / static_cast<double>(seconds.count));
    ranks.push_back(rank);
  }
  for (const auto place : statistics::outliers(means))
    if (out.odd_nodes.size() < 100)
      out.odd_nodes.push_back({"rank " + printable(ranks[place]), means[place],
                               statistics::median(means), "seconds per step"});
}

void fill_timers(const Run& run, const TimerGroups& groups, const Counts& counts,
                 Measurement& out) {
  for (const auto& timer : run.timers) {
    const auto& name = timer.first;  // no binding: clang 14 lets no lambda see one
    const auto& sample = timer.second;
    if (sample.empty()) continue;
    const auto found = groups.groups.find(name);
    const auto group = found == groups.groups.end() ? "other" : found->second;
    if (group == "none") continue;
    // The whole is left out where its parts are told.
    const bool divided = std::any_of(
        groups.parts.begin(), groups.parts.end(),
        [&](const auto& part) { return part.second == name && run.timers.contains(part.first); });
    const auto seconds = sample.median(counts);
    if (!divided && seconds > 0) out.time_items.push_back({printable(name), group, seconds});
  }
  std::stable_sort(out.time_items.begin(), out.time_items.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

void fill_losses(const Run& run, const measured::Row& row, Measurement& out) {
  out.losses = run.losses.points();
  if (row.gbs && row.seq && run.ramp_steps == 0)
    for (auto& point : out.losses)
      if (point.tokens == 0)
        point.tokens = static_cast<double>(point.step) * static_cast<double>(*row.gbs) *
                       static_cast<double>(*row.seq);
  if (run.losses.lost()) return;
  if (const auto last = run.losses.last())
    out.last_loss = last->loss;
  else
    out.last_loss = total(run, Target::train_loss);
}

// A Trainer that prints nothing but its end: all that was planned, or its samples in whole steps.
std::int64_t steps_of_totals(const Run& run, const measured::Row& row, const Measurement& out) {
  if (out.steps_planned > 0) return out.steps_planned;
  const auto seconds = total(run, Target::train_runtime);
  const auto rate = total(run, Target::train_samples_per_second);
  if (!seconds || !rate || !row.gbs) return 0;
  const double steps = std::ceil(*seconds * *rate / static_cast<double>(*row.gbs) - 0.02);
  return steps > 0 && steps < 1e12 ? static_cast<std::int64_t>(steps) : 0;
}

void fill_steps(const Run& run, const measured::Row& row, Measurement& out) {
  out.steps = std::max<std::int64_t>(0, run.last_step);
  out.steps_planned = run.settings.whole(Target::steps_planned).value_or(0);
  const auto samples = run.settings.whole(Target::train_samples);
  if (out.steps_planned <= 0 && samples && row.gbs && run.ramp_steps == 0)
    out.steps_planned = *samples / *row.gbs;
  if (const auto* bar = training_bar(run); bar && run.times.steps().empty()) {
    out.steps = std::max(out.steps, bar->last);
    if (out.steps_planned <= 0) out.steps_planned = bar->total;
  }
  if (out.steps == 0 && run.finished && !run.totals.empty())
    out.steps = steps_of_totals(run, row, out);
  out.restarts = run.restarts;
  out.repeated_steps = run.repeated;
  out.resumes = run.resumes;
  out.skipped_steps = std::max(run.skipped, run.overflows);
  out.nan_steps = std::max<std::int64_t>(run.nan, run.mean_is_nan ? 1 : 0);
}

}  // namespace

void fill_measurement(const Run& run, const TimerGroups& timers, const measured::Row& row,
                      Measurement& out, std::string& notes) {
  fill_steps(run, row, out);
  auto dropped = fill_time(run, row, out);
  const auto counts = counts_in(out.window, std::move(dropped));
  fill_rates(run, row, counts, out);
  fill_memory(run, out);
  find_slow_ranks(run, out);
  fill_timers(run, timers, counts, out);
  fill_losses(run, row, out);
  const auto runtime = total(run, Target::train_runtime);
  if (runtime && row.gpus) out.gpu_hours = *runtime * static_cast<double>(*row.gpus) / 3600;
  if (run.ramp_steps > 0)
    notes = fmt::format("{} steps with another batch size before are not in the time of a step",
                        run.ramp_steps);
  if (run.times.steps().empty() && run.timeless > 0)
    notes += (notes.empty() ? "" : "; ") + out.window.rule;
  if (!run.after_end.empty())
    notes += (notes.empty() ? "" : "; ") + ("after the end: " + run.after_end);
}

void fill_end(const Run& run, record::Record& record) {
  const auto& measured = record.measured;
  const bool all_done = measured.steps_planned > 0 && measured.steps >= measured.steps_planned;
  if (run.finished || (all_done && run.failure_priority < 0)) {
    record.state = record::State::finished;
    record.reason = run.finished
                        ? run.end_words
                        : fmt::format("step {} of {}", measured.steps, measured.steps_planned);
    return;
  }
  if (run.failure_priority >= 0) {
    record.state = run.cancelled ? record::State::cancelled : record::State::failed;
    record.failure = run.failure;
    record.reason = run.failure_words;
    return;
  }
  if (run.stopped) {
    record.state = record::State::stopped;
    record.reason = run.end_words;
    return;
  }
  record.state = record::State::running;
  if (measured.steps == 0)
    record.reason = "the log ends before the first step";
  else if (measured.steps_planned > 0)
    record.reason =
        fmt::format("the log ends at step {} of {}", measured.steps, measured.steps_planned);
  else
    record.reason = fmt::format("the log ends at step {}", measured.steps);
}

}  // namespace orch::ingest
