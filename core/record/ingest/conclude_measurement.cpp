#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/ingest/conclude.h"
#include "core/record/ingest/number.h"

namespace orch::ingest {
namespace {

using record::Measurement, record::Record;

using Counts = std::function<bool(std::int64_t)>;

// Returns a predicate that is true for the steps that the step time was measured over.
Counts counts_in(const statistics::StepWindow& window, std::vector<std::int64_t> dropped) {
  std::sort(dropped.begin(), dropped.end());
  return [window, dropped = std::move(dropped)](std::int64_t step) {
    if (window.used == 0) return true;
    return step >= window.first && step <= window.last &&
           !std::binary_search(dropped.begin(), dropped.end(), step);
  };
}

double median_tflops(const LoggedRun& run, const Counts& counts) {
  if (!run.tflops_before) return run.tflops.median(counts);
  const auto& steps = run.times.steps();
  return run.tflops.median([&](std::int64_t before) {
    const auto step = std::upper_bound(
        steps.begin(), steps.end(), before,
        [](std::int64_t wanted, const statistics::TimedStep& held) { return wanted < held.step; });
    return step != steps.end() && counts(step->step);
  });
}

void fill_tflops(const LoggedRun& run, const Counts& counts, Measurement& out) {
  if (!run.tflops.empty()) out.tflops.push_back({median_tflops(run, counts), "log", false});
  if (!run.tflops_profiler.empty())
    out.tflops.push_back({run.tflops_profiler.median(), "deepspeed-profiler", false});
}

// The pipeline stage of a rank. The first and the last stage need other amounts of memory than the
// middle ones. -1 if the name of the rank does not determine it.
std::int64_t stage_of(const std::string& rank, const Record& record) {
  const auto stages = record.whole("pipeline_parallel").value_or(1);
  const auto gpus = record.whole("gpus");
  if (stages <= 1) return 0;
  const auto digits = rank.find_last_not_of("0123456789");
  const auto number = to_number(rank.substr(digits == std::string::npos ? 0 : digits + 1));
  if (!number || !gpus || *gpus % stages != 0) return -1;
  return static_cast<std::int64_t>(*number) / (*gpus / stages);
}

struct RankValues {
  std::vector<double> values;
  std::vector<std::string> ranks;
};

void find_odd_ranks(const RankValues& among, const char* what, Measurement& out) {
  const auto odd = statistics::outliers(among.values);
  if (odd.empty()) return;
  const double typical = statistics::median(among.values);
  for (const auto place : odd)
    if (out.odd_nodes.size() < 100)
      out.odd_nodes.push_back(
          {"rank " + printable(among.ranks[place]), among.values[place], typical, what});
}

// Fills in the peak memory of the fullest rank, by the most accurate kind of memory in the log.
void fill_memory(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  for (std::size_t kind = 0; kind < kMemoryKinds.size() && !out.peak_memory_bytes; ++kind) {
    std::map<std::int64_t, RankValues> stages;
    double most = 0;
    for (const auto& [rank, memory] : run.memory) {
      if (memory[kind] <= 0) continue;
      most = std::max(most, memory[kind]);
      auto& stage = stages[stage_of(rank, record)];
      stage.values.push_back(memory[kind]);
      stage.ranks.push_back(rank);
    }
    if (most <= 0) continue;
    out.peak_memory_bytes = most;
    out.peak_memory_from = kMemoryKinds[kind].words;
    for (const auto& [stage, among] : stages)
      if (stage >= 0) find_odd_ranks(among, "peak memory", out);
  }
  if (run.host_memory > 0) out.host_memory_bytes = run.host_memory;
}

void find_slow_ranks(const LoggedRun& run, Measurement& out) {
  RankValues among;
  for (const auto& [rank, seconds] : run.rank_seconds) {
    among.values.push_back(seconds.sum / static_cast<double>(seconds.count));
    among.ranks.push_back(rank);
  }
  find_odd_ranks(among, "seconds per step", out);
}

void fill_timers(const LoggedRun& run, const TimerGroups& groups, const Counts& counts,
                 Measurement& out) {
  for (const auto& timer : run.timers) {
    const auto& name = timer.first;  // clang 14: lambdas cannot capture structured bindings
    const auto& sample = timer.second;
    if (sample.empty()) continue;
    const auto found = groups.groups.find(name);
    const auto group = found == groups.groups.end() ? "other" : found->second;
    if (group == "none") continue;
    // A timer is left out if the log has timers for its parts.
    const bool divided = std::any_of(
        groups.parts.begin(), groups.parts.end(),
        [&](const auto& part) { return part.second == name && run.timers.contains(part.first); });
    const auto seconds = sample.median(counts);
    if (!divided && seconds > 0) out.time_items.push_back({printable(name), group, seconds});
  }
  std::stable_sort(out.time_items.begin(), out.time_items.end(),
                   [](const auto& a, const auto& b) { return a.amount > b.amount; });
}

void fill_losses(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  out.losses = run.losses.points();
  for (auto& point : out.losses)
    point.step /= static_cast<std::int64_t>(lines_of_step(run, record));
  const auto batch = record.field_number("global_batch"), seq = record.field_number("seq");
  if (batch && seq && run.ramp_steps == 0)
    for (auto& point : out.losses)
      if (point.tokens == 0) point.tokens = static_cast<double>(point.step) * *batch * *seq;
  if (run.losses.lost()) return;
  if (const auto last = run.losses.last())
    out.last_loss = last->loss;
  else
    out.last_loss = total(run, IngestTarget::train_loss);
}

// The steps of a Trainer that prints only totals: the planned steps unless it stopped before,
// otherwise the number of samples divided by the batch.
std::int64_t steps_of_totals(const LoggedRun& run, const Record& record) {
  if (const auto last = early_stop(run, record)) return *last;
  if (record.measured.steps_planned > 0) return record.measured.steps_planned;
  const auto batch = record.field_number("global_batch");
  const auto seconds = total(run, IngestTarget::train_runtime);
  const auto rate = total(run, IngestTarget::train_samples_per_second);
  if (!seconds || !rate || !batch) return 0;
  const double steps = std::ceil(*seconds * *rate / *batch - 0.02);
  return steps > 0 && steps < 1e12 ? static_cast<std::int64_t>(steps) : 0;
}

void fill_steps(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  const auto batch = record.whole("global_batch");
  const auto lines = static_cast<std::int64_t>(lines_of_step(run, record));
  out.steps = std::max<std::int64_t>(0, run.last_step) / lines;
  out.steps_planned = run.settings.whole(IngestTarget::steps_planned).value_or(0);
  const auto samples = run.settings.whole(IngestTarget::train_samples);
  if (out.steps_planned <= 0 && samples && batch && run.ramp_steps == 0)
    out.steps_planned = *samples / *batch;
  if (const auto* bar = training_bar(run); bar && run.times.steps().empty()) {
    out.steps = std::max(out.steps, bar->last);
    // With several epochs, the bar may cover only one of them.
    const bool of_one_epoch = run.settings.whole(IngestTarget::epochs).value_or(1) > 1;
    if (out.steps_planned <= 0 && !of_one_epoch) out.steps_planned = bar->total;
  }
  if (out.steps == 0 && run.finished && !run.totals.empty())
    out.steps = steps_of_totals(run, record);
  out.restarts = run.restarts;
  out.repeated_steps = run.repeated;
  out.resumes = run.resumes;
  out.skipped_steps = std::max(run.skipped, run.overflows);
  out.nan_steps = std::max<std::int64_t>(run.nan, run.mean_is_nan ? 1 : 0);
}

}  // namespace

std::optional<std::int64_t> early_stop(const LoggedRun& run, const Record& record) {
  constexpr double kWhole = 0.98;  // epochs are rounded, and the last batch of one is smaller
  const auto epoch = total(run, IngestTarget::train_epoch);
  const auto examples = run.settings.number(IngestTarget::examples);
  const auto batch = record.field_number("global_batch");
  const auto epochs = run.settings.number(IngestTarget::epochs);
  const auto planned = static_cast<double>(record.measured.steps_planned);
  if (!epoch || !epochs || !examples || !batch || planned <= 0) return std::nullopt;
  if (planned > *epochs * std::ceil(*examples / *batch)) return std::nullopt;  // inconsistent
  const double steps = std::round(*epoch * *examples / *batch);
  if (!(steps >= 1) || steps > kWhole * planned) return std::nullopt;
  return static_cast<std::int64_t>(steps);
}

void fill_measurement(const LoggedRun& run, const TimerGroups& timers, Record& record) {
  auto& out = record.measured;
  auto& notes = record.notes;
  fill_steps(run, record);
  auto dropped = fill_time(run, record);
  out.peaks = run.peaks;
  const auto lines = static_cast<std::int64_t>(lines_of_step(run, record));
  for (auto* points : {&out.step_times, &out.peaks})
    for (auto& point : *points) point.step /= lines;
  const auto counts = counts_in(out.window, std::move(dropped));
  fill_tflops(run, counts, out);
  fill_memory(run, record);
  find_slow_ranks(run, out);
  fill_timers(run, timers, counts, out);
  fill_losses(run, record);
  if (run.ramp_steps > 0)
    notes = fmt::format("{} steps with another batch size before are not in the time of a step",
                        run.ramp_steps);
  if (run.counts_micro_batches && !record.field("accumulate"))
    notes = with(notes, "steps are micro-batches: --set gas=N says how many are one");
  if (run.times.steps().empty() && run.timeless > 0) notes = with(notes, out.window.rule);
  if (!run.after_end.empty()) notes = with(notes, "after the end: " + run.after_end);
}

// Uses the duration of the training if the log states it at the end. Otherwise the hours are those
// of the steps in this log: steps before its first one are not included, repeated steps are.
void fill_hours(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  const auto lines = static_cast<std::int64_t>(lines_of_step(run, record));
  const auto& times = out.step_times;
  const auto apart = times.size() < 2 ? 1 : (times[1].step - times[0].step) * lines;
  const bool from_start = run.first_step <= std::max<std::int64_t>(1, apart);
  const auto steps = (from_start ? out.steps : (run.last_step - run.first_step + apart) / lines) +
                     run.repeated / lines;
  const double stepped =
      out.step_seconds ? static_cast<double>(steps) * out.step_seconds->value : 0;
  const double seconds = total(run, IngestTarget::train_runtime).value_or(stepped);
  const auto gpus = record.field_number("gpus");
  if (seconds > 0 && gpus) out.gpu_hours = seconds * *gpus / 3600;
}

void fill_end(const LoggedRun& run, record::Record& record) {
  const auto& measured = record.measured;
  const bool all_done = measured.steps_planned > 0 && measured.steps >= measured.steps_planned;
  if (run.sign.is_there()) {
    record.state = run.sign.cancelled ? record::RunState::cancelled : record::RunState::failed;
    record.failure = run.sign.failure;
    record.reason = run.sign.words;
    return;
  }
  if (run.finished || all_done) {
    record.state = record::RunState::finished;
    record.reason = run.finished
                        ? run.end_words
                        : fmt::format("step {} of {}", measured.steps, measured.steps_planned);
    return;
  }
  if (run.stopped) {
    record.state = record::RunState::stopped;
    record.reason = run.end_words;
    return;
  }
  record.state = record::RunState::running;
  if (measured.steps == 0)
    record.reason = "the log ends before the first step";
  else if (measured.steps_planned > 0)
    record.reason =
        fmt::format("the log ends at step {} of {}", measured.steps, measured.steps_planned);
  else
    record.reason = fmt::format("the log ends at step {}", measured.steps);
  if (measured.steps > 0 && run.saved >= measured.steps) record.reason += ", which was saved";
}

}  // namespace orch::ingest
