#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/record/ingest/conclude.h"

namespace orch::ingest {
namespace {

using record::Measurement, record::Record;

constexpr std::size_t kEnough = 4;     // times of steps that are preferred to a single mean
constexpr double kLongestStep = 3600;  // seconds; a larger number is a reading of a clock

// The typical number of steps between two lines.
std::int64_t steps_apart(const LoggedStepTimes& times) {
  std::vector<double> apart;
  for (std::size_t i = 1; i < times.steps().size(); ++i)
    apart.push_back(static_cast<double>(times.steps()[i].step - times.steps()[i - 1].step));
  if (apart.empty()) return 1;
  return std::llround(statistics::median(apart) / static_cast<double>(times.stride()));
}

// Corrects the text of the rule: it was written as if each line were one step, and without the
// steps that were left out before.
void say_what_lines_are(const LoggedRun& run, const LoggedStepTimes& times, bool means,
                        Measurement& out) {
  auto& rule = out.window.rule;
  const auto apart = steps_apart(times);
  if (const auto at = rule.find(" steps used"); apart > 1 && at != std::string::npos)
    rule.replace(at, 11,
                 means ? fmt::format(" lines of {} steps each used", apart)
                       : fmt::format(" lines used, one every {} steps", apart));
  if (run.ramp_steps > 0) {
    if (rule.starts_with("nothing dropped; ")) rule.erase(0, 17);
    rule = fmt::format("{} {} with another batch size left out; ", run.ramp_steps,
                       apart > 1 ? "lines" : "steps") +
           rule;
  }
  if (run.timeless > 0) rule += fmt::format("; {} without a valid time", run.timeless);
}

std::vector<std::int64_t> from_steps(const LoggedStepTimes& times, Measurement& out) {
  const auto found = out.take(times.steps());
  if (times.stride() == 1) return found.dropped;
  out.window.rule += fmt::format("; of {} steps every {}th was kept", times.seen(), times.stride());
  // The slowest steps are known even if they are not among those that were kept.
  const double typical = out.step_seconds->value;
  std::vector<double> seconds;
  for (const auto& step : times.steps()) seconds.push_back(step.seconds);
  const double limit = typical + std::max(5 * statistics::spread(seconds), 0.05 * typical);
  for (const auto& slow : times.slowest()) {
    const bool known = std::any_of(out.odd_steps.begin(), out.odd_steps.end(),
                                   [&](const auto& odd) { return odd.step == slow.step; });
    if (known || slow.seconds <= limit) continue;
    out.odd_steps.push_back({slow.step, slow.seconds, slow.seconds / typical});
    ++out.odd_step_count;
  }
  std::stable_sort(out.odd_steps.begin(), out.odd_steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  if (out.odd_steps.size() > kMostSlow) out.odd_steps.resize(kMostSlow);
  return found.dropped;
}

// The number of units of work per step; the times are per unit.
std::optional<double> work_of_step(const LoggedRun& run, const Record& record) {
  const auto batch = record.field_number("global_batch"), gpus = record.field_number("gpus");
  const auto of_gpu = [&](const std::optional<double>& work) {
    return work && gpus ? std::optional(*work / *gpus) : std::nullopt;
  };
  switch (run.work) {
    case TimedWork::step:
      return 1;
    case TimedWork::sample:
      return batch;
    case TimedWork::sample_of_gpu:
      return of_gpu(batch);
    case TimedWork::token:
      return batch_tokens(run, record);
    case TimedWork::token_of_gpu:
      return of_gpu(batch_tokens(run, record));
    case TimedWork::micro_batch:  // fill_time() uses it only if there is no clock
    case TimedWork::none:
      break;
  }
  return std::nullopt;
}

std::string rate_words(TimedWork work, double of_step) {
  const bool samples = work == TimedWork::sample || work == TimedWork::sample_of_gpu;
  const bool of_gpu = work == TimedWork::sample_of_gpu || work == TimedWork::token_of_gpu;
  return fmt::format("{:.10g} {} of a step{} / {} per second{}", of_step,
                     samples ? "samples" : "tokens", of_gpu ? " and GPU" : "",
                     samples ? "samples" : "tokens", of_gpu ? " and GPU" : "");
}

LoggedStepTimes scaled(LoggedStepTimes times, double factor) {
  times.scale(factor);
  return times;
}

std::vector<std::int64_t> from_lines(const LoggedRun& run, const LoggedStepTimes& times, bool means,
                                     Measurement& out) {
  auto dropped = from_steps(times, out);
  say_what_lines_are(run, times, means, out);
  return dropped;
}

std::string average_words(const Measurement& out) {
  return out.steps > 0 ? fmt::format(": the average over all {} steps, warm-up included", out.steps)
                       : ": the average over the whole run, warm-up included";
}

// Divides the duration of the training by its steps. A rate of samples is less exact, because the
// last batch of an epoch may be smaller.
bool from_runtime(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  const auto seconds = total(run, IngestTarget::train_runtime);
  const auto* bar = training_bar(run);
  const auto said = out.steps_planned > 0 || run.last_step >= 0 ? out.steps_planned : out.steps;
  const auto last = bar ? bar->last : early_stop(run, record).value_or(said);
  const auto steps = last - std::max<std::int64_t>(0, run.resumed_after);
  if (!seconds || !(*seconds > 0) || steps <= 0) return false;
  out.step_seconds = statistics::Interval{*seconds / static_cast<double>(steps), {}, {}, 1};
  out.step_seconds_from = fmt::format(
      "{:g} s / {} steps (train_runtime): all of the run, warm-up included", *seconds, steps);
  return true;
}

// The time for an amount of work at a rate that is rounded to thousandths.
statistics::Interval at_rate(double work, double rate) {
  constexpr double kHalf = 0.0005, kNegligible = 0.005;
  statistics::Interval out{work / rate, {}, {}, 1};
  if (kHalf < kNegligible * rate || rate <= kHalf) return out;
  out.low = work / (rate + kHalf);
  out.high = work / (rate - kHalf);
  return out;
}

// Computes one step time for the whole run from its rate and records how it was computed.
bool from_rate(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  const auto rate = total(run, IngestTarget::train_samples_per_second);
  const auto batch = record.field_number("global_batch");
  if (rate && *rate > 0 && batch) {
    out.step_seconds = at_rate(*batch, *rate);
    out.step_seconds_from =
        fmt::format("{:.0f} samples of a step / {:g} samples per second (train_samples_per_second)",
                    *batch, *rate) +
        average_words(out);
    return true;
  }
  const auto steps = total(run, IngestTarget::train_steps_per_second);
  if (!steps || *steps <= 0) return false;
  out.step_seconds = at_rate(1, *steps);
  out.step_seconds_from =
      fmt::format("1 / {:g} steps per second (train_steps_per_second)", *steps) +
      average_words(out);
  return true;
}

// The reason why the numbers that lines call "time" are durations of steps; "" if they are readings
// of a clock. A clock increases from line to line and falls only where a run is resumed.
std::string_view why_durations(const LoggedRun& run) {
  const auto& steps = run.numbered.steps();
  if (steps.empty()) return "";
  std::size_t pairs = 0, falls = 0, stays = 0;
  std::vector<double> sorted{steps.front().seconds};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    sorted.push_back(steps[i].seconds);
    if (steps[i].first) continue;
    ++pairs;
    falls += steps[i].seconds < steps[i - 1].seconds ? 1 : 0;
    stays += steps[i].seconds == steps[i - 1].seconds ? 1 : 0;
  }
  if (falls * 5 > pairs) return "they fall";
  std::sort(sorted.begin(), sorted.end());
  const auto middle = sorted[sorted.size() / 2];
  if (middle > kLongestStep) return "";
  const bool alike = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4] < middle / 4;
  const bool still = alike && (falls + stays) * 5 > pairs;
  return still || run.watch.times().steps().empty() ? "they do not go on" : "";
}

}  // namespace

std::optional<double> total(const LoggedRun& run, IngestTarget target) {
  const auto found = run.totals.find(target);
  return found == run.totals.end() ? std::nullopt : std::optional(found->second);
}

const ProgressBar* training_bar(const LoggedRun& run) {
  const auto planned = run.settings.whole(IngestTarget::steps_planned);
  const ProgressBar* best = nullptr;
  for (const auto& bar : run.bars) {
    if (planned && bar.total == *planned) return &bar;
    if (!best || bar.last_elapsed > best->last_elapsed) best = &bar;
  }
  return planned ? nullptr : best;
}

std::vector<std::int64_t> fill_time(const LoggedRun& run, Record& record) {
  auto& out = record.measured;
  if (const auto work = work_of_step(run, record); work && !run.times.steps().empty()) {
    if (run.work == TimedWork::step) return from_lines(run, run.times, run.means, out);
    out.step_seconds_from = rate_words(run.work, *work);
    return from_lines(run, scaled(run.times, *work), run.means, out);
  }
  const auto* bar = training_bar(run);
  const auto counted = bar ? bar->watch.times() : LoggedStepTimes();
  const auto from_bar = [&] {
    from_steps(counted, out);
    out.step_seconds_from = "the time that the progress bar has counted";
    return std::vector<std::int64_t>();
  };
  if (counted.steps().size() >= kEnough) return from_bar();
  // With the dates of many lines, evaluations and checkpoints can be left out. The duration of the
  // run includes them.
  const bool has_dates = run.watch.times().steps().size() >= kEnough && why_durations(run).empty();
  if (!has_dates && (from_runtime(run, record) || from_rate(run, record))) return {};
  const double lines = lines_of_step(run, record);
  if (const auto why = why_durations(run); !why.empty()) {
    out.step_seconds_from =
        fmt::format("the times of lines: {}, and they are not times of a clock", why);
    return from_lines(run, scaled(run.numbered, lines), false, out);
  }
  if (const auto times = run.watch.times(); !times.steps().empty()) {
    out.step_seconds_from = fmt::format("the time between the {} of lines{}",
                                        run.numbered.steps().empty() ? "dates" : "times",
                                        run.watch.coarse() ? ", which are to the second" : "");
    return from_lines(run, scaled(times, lines), true, out);
  }
  if (run.work == TimedWork::micro_batch && !run.times.steps().empty()) {
    const auto count =
        run.counts_micro_batches ? lines : record.field_number("accumulate").value_or(1);
    out.step_seconds_from = fmt::format("{:g} times the last micro-batch of each step", count);
    return from_lines(run, scaled(run.times, count), false, out);
  }
  if (run.timeless > 0)
    out.window.rule = fmt::format("no step with a valid time: {} are 0 or less", run.timeless);
  return counted.steps().empty() ? std::vector<std::int64_t>() : from_bar();
}

}  // namespace orch::ingest
