#include "core/record/ingest/notes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/record/ingest/number.h"
#include "core/record/ingest/prefix.h"

namespace orch::ingest {
namespace {

constexpr std::size_t kMostRanks = 16'384;
constexpr std::size_t kMostNames = 200;  // timers, versions, other fields
constexpr std::size_t kMostArguments = 2000;
constexpr std::size_t kMostWords = 200;  // characters of a value
constexpr std::size_t kMostResumes = 1000;
constexpr std::size_t kMostPeaks = 400;
constexpr std::size_t kMostBars = 8;
constexpr std::size_t kMostSizes = 4;
constexpr int kSureWeight = 2;  // of rules whose settings only one framework prints
constexpr int kKnowsGpus = 5;   // weight of rules for the world size of the program

template <class Map>
void keep(Map& map, std::string_view name, std::string_view value, std::size_t most = kMostNames) {
  if (map.size() >= most && map.find(std::string(name)) == map.end()) return;
  map[std::string(name)] = printable(value.substr(0, kMostWords));
}

void raise(double& peak, double value) {
  if (std::isfinite(value)) peak = std::max(peak, value);
}

void note_batch(const TargetValues& values, LoggedRun& run) {
  const double batch = values.number_or(IngestTarget::gbs, 0);
  if (!(batch > 0)) return;
  if (run.first_batch == 0) run.first_batch = batch;
  if (run.batch > 0 && run.batch != batch) {
    // Steps with another batch size are not part of the same measurement.
    run.ramp_steps += run.times.seen();
    run.times.clear();
    run.watch.clear();
  }
  run.batch = batch;
}

// A time for a better unit of work replaces the times collected for another one.
void note_pace(const LoggedPace& pace, const TargetValues& values, std::int64_t step,
               LoggedRun& run) {
  if (pace.work == TimedWork::none || pace.work > run.work) return;
  if (pace.work < run.work) run.times.clear();
  run.work = pace.work;
  if (pace.seconds > 0 && std::isfinite(pace.seconds))
    run.times.add({step, pace.seconds, run.start_waits}, shape_of(values, pace.seconds).mark);
  else
    ++run.timeless;
}

void note_stamp(std::string_view stamp, LoggedRun& run) {
  if (stamp.empty()) return;
  if (run.first_stamp.empty()) run.first_stamp = stamp;
  run.last_stamp = stamp;
}

// The value of one unit of the last digit of a number.
double tick_of_number(std::string_view text) {
  const auto point = text.find('.');
  return point == text.npos ? 1 : std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

// The clock of a resumed run may start again. A rounded clock may repeat a value; the resolution of
// such a clock is its last digit.
void note_number(double seconds, double tick, std::int64_t step, LoggedRun& run) {
  if (tick < 1 && seconds != run.last_number) tick = 0;
  if (seconds < run.last_number) run.watch.start();
  run.last_number = seconds;
  run.numbered.add({step, seconds, run.start_waits});
  run.watch.tell(step, seconds, tick);
}

// A reading of a clock, or one that is computed from the mean time of all steps so far.
std::optional<double> clock_of(const TargetValues& values, std::int64_t step) {
  if (values.has(IngestTarget::clock)) return values.number(IngestTarget::clock);
  if (!values.has(IngestTarget::mean_step_seconds)) return std::nullopt;
  return values.number(IngestTarget::mean_step_seconds) * static_cast<double>(step);
}

// Uses the date of a line if the line has no duration of its step.
void note_moment(const TargetValues& values, const TextPlace& where, std::int64_t step,
                 LoggedRun& run) {
  if (run.start_waits) run.watch.start();
  const auto stamp = values.has(IngestTarget::time) ? values.text(IngestTarget::time) : where.stamp;
  if (const auto number = to_number(stamp))
    return note_number(*number, tick_of_number(stamp), step, run);
  if (const auto seconds = seconds_of_duration(stamp))
    return note_number(*seconds, tick_of_number(stamp), step, run);
  if (const auto clock = clock_of(values, step)) return note_number(*clock, 1e-3, step, run);
  note_stamp(stamp.substr(0, kLongestStamp), run);
  if (!stamp.empty()) run.watch.tell(step, seconds_of(stamp), tick_of(stamp));
}

void note_rates(const TargetValues& values, std::int64_t step, LoggedRun& run) {
  const auto add = [&](IngestTarget target, SampleReservoir& sample) {
    if (values.has(target)) sample.add(values.number(target), step);
  };
  add(IngestTarget::samples_per_second, run.samples_per_second);
  add(IngestTarget::samples_per_second_per_gpu, run.samples_per_second_per_gpu);
  add(IngestTarget::tokens_per_second, run.tokens_per_second);
  add(IngestTarget::tokens_per_second_per_gpu, run.tokens_per_second_per_gpu);
  add(IngestTarget::tflops, run.tflops);
  if (values.has(IngestTarget::samples))
    run.samples.tell(step, values.number(IngestTarget::samples));
  if (values.has(IngestTarget::tokens)) run.tokens.tell(step, values.number(IngestTarget::tokens));
  if (values.has(IngestTarget::micro_step))
    run.micro_batches.tell(step, values.number(IngestTarget::micro_step));
}

void note_loss(const Rule& rule, const TargetValues& values, std::int64_t step, LoggedRun& run) {
  const bool lost = !values.has(IngestTarget::loss) && values.number_or(IngestTarget::nan, 0) > 0;
  if (!(values.has(IngestTarget::loss) || lost) || rule.weight < run.loss_weight) return;
  run.loss_weight = rule.weight;
  if (lost) return run.losses.add({step, 0, std::numeric_limits<double>::quiet_NaN()});
  double tokens = values.number_or(IngestTarget::tokens, 0);
  if (tokens == 0) {
    const auto seq = run.seq > 0 ? run.seq : run.settings.number(IngestTarget::seq).value_or(0);
    tokens = values.number_or(IngestTarget::samples, 0) * seq;
  }
  run.losses.add({step, tokens, values.number(IngestTarget::loss)});
}

// The step of a loss. A Trainer does not print it; its progress bar or the epoch shows it.
std::int64_t step_of_loss(const TargetValues& values, const LoggedRun& run) {
  if (values.has(IngestTarget::step)) return to_step(values.number(IngestTarget::step));
  if (!run.bars.empty()) return run.bars.back().last;
  const auto planned = run.settings.number(IngestTarget::steps_planned);
  const auto epochs = run.settings.number(IngestTarget::epochs);
  const double epoch = values.number_or(IngestTarget::epoch, -1);
  if (!planned || !epochs || !(epoch >= 0) || epoch > 1e6) return run.loss_count;
  return to_step(std::round(epoch * *planned / std::max(1.0, *epochs)));
}

// Counts a step of a log whose only lines of steps are losses. They also show that it was resumed.
void note_step_of_loss(std::int64_t step, LoggedRun& run) {
  if (run.resume_waits && run.last_step >= 0) {
    const auto from = run.resumed_after >= 0 ? run.resumed_after + 1 : step;
    ++run.restarts;
    if (run.resumes.size() < kMostResumes) run.resumes.push_back(from);
    run.repeated += std::max<std::int64_t>(0, run.last_step - from + 1);
    run.losses.drop_from(from);
    run.last_step = step;
  }
  run.resume_waits = false;
  run.last_step = std::max(run.last_step, step);
}

// The seconds of "01:02" or "1:02:03" in a progress bar.
double clock_seconds(std::string_view text) {
  double seconds = 0, part = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      part = part * 10 + (c - '0');
    } else if (c == ':') {
      seconds = (seconds + part) * 60;
      part = 0;
    }
  }
  return seconds + part;
}

}  // namespace

std::int64_t to_step(double value) {
  return value >= 0 && value < 9e15 ? static_cast<std::int64_t>(value) : -1;
}

LoggedPace pace_of(const TargetValues& values) {
  if (values.has(IngestTarget::step_seconds))
    return {values.number(IngestTarget::step_seconds), TimedWork::step};
  constexpr std::array kRates{
      std::pair{IngestTarget::steps_per_second, TimedWork::step},
      std::pair{IngestTarget::samples_per_second, TimedWork::sample},
      std::pair{IngestTarget::samples_per_second_per_gpu, TimedWork::sample_of_gpu},
      std::pair{IngestTarget::tokens_per_second, TimedWork::token},
      std::pair{IngestTarget::tokens_per_second_per_gpu, TimedWork::token_of_gpu}};
  for (const auto& [target, work] : kRates)
    if (const double rate = values.number_or(target, 0); rate > 0) return {1 / rate, work};
  if (values.has(IngestTarget::micro_seconds))
    return {values.number(IngestTarget::micro_seconds), TimedWork::micro_batch};
  return {};
}

LoggedStepTimes::Kept shape_of(const TargetValues& values, double seconds) {
  if (!values.has(IngestTarget::loss)) return {seconds, 0};
  const auto bits = std::bit_cast<std::uint64_t>(values.number(IngestTarget::loss));
  return {seconds, static_cast<std::uint32_t>(bits >> 32 ^ bits) | 1};
}

void note_place(const Rule& rule, const TextPlace& where, LoggedRun& run) {
  if (run.first_line == 0) run.first_line = where.line;
  run.last_line = where.line;
  if (run.last_rule != &rule) {
    run.last_rule = &rule;
    // Lines of timers, memory and progress bars are alike in several frameworks.
    const bool tells = rule.kind != RuleKind::timers && rule.kind != RuleKind::memory &&
                       rule.kind != RuleKind::bar;
    const bool sure = rule.kind != RuleKind::facts || rule.begins || rule.finished ||
                      rule.stopped || rule.weight >= kSureWeight;
    if (tells && !rule.framework.empty())
      (sure ? run.frameworks : run.hints).insert(rule.framework);
  }
  note_stamp(where.stamp, run);
}

void note_step(const Rule& rule, const TargetValues& values, const TextPlace& where,
               std::int64_t step, const LoggedPace& pace, LoggedRun& run) {
  if (run.resume_waits) {
    if (run.last_step >= 0) ++run.restarts;
    if (run.resumes.size() < kMostResumes) run.resumes.push_back(step);
    run.start_waits = true;
  }
  run.resume_waits = false;
  run.sign.pass_step();
  note_place(rule, where, run);
  if (run.first_step < 0) {
    run.first_step = step;
    run.settings.take(values, 0);
    run.step_framework = rule.framework;
  }
  run.last_step = step;
  note_batch(values, run);
  if (values.has(IngestTarget::seq)) run.seq = values.number(IngestTarget::seq);
  note_pace(pace, values, step, run);
  if (pace.work != TimedWork::step) note_moment(values, where, step, run);
  run.means = run.means || values.has(IngestTarget::step_seconds);
  run.start_waits = false;
  note_rates(values, step, run);
  run.skipped += std::max<std::int64_t>(0, to_step(values.number_or(IngestTarget::skipped, 0)));
  // A line may both count non-finite losses and show one.
  const bool shown = !std::isfinite(values.number_or(IngestTarget::loss, 0));
  run.nan += std::max<std::int64_t>(shown ? 1 : 0, to_step(values.number_or(IngestTarget::nan, 0)));
  note_loss(rule, values, step, run);
}

void note_rank_pace(const TextPlace& where, std::int64_t step, const LoggedPace& pace,
                    LoggedRun& run) {
  const double seconds = pace.seconds;
  if (where.label.empty() || !(seconds > 0) || !std::isfinite(seconds)) return;
  if (pace.work != TimedWork::step) return;
  if (run.first_step < 0 || step == run.first_step) return;
  auto found = run.rank_seconds.find(where.label);
  if (found == run.rank_seconds.end()) {
    if (run.rank_seconds.size() >= kMostRanks) return;
    found = run.rank_seconds.emplace(where.label, LoggedRun::Mean{}).first;
  }
  found->second.sum += seconds;
  ++found->second.count;
}

void note_settings(const Rule& rule, const TargetValues& values, LoggedRun& run) {
  for (const auto& [name, value] : values.more) {
    if (value.empty() || (value == "None" && !name.starts_with("argument_"))) continue;
    if (name.starts_with("quantity_")) {
      if (const auto number = to_number(value)) run.stated[std::string(name.substr(9))] = *number;
      continue;
    }
    if (name.starts_with("argument_")) {
      keep(run.arguments, name.substr(9), value, kMostArguments);
      continue;
    }
    const bool version = name.starts_with("version_");
    keep(version ? run.versions : run.more, name.substr(version ? 8 : 5), value);
  }
  if (values.has(IngestTarget::job) && run.jobs.size() < kMostNames)
    run.jobs.insert(printable(values.text(IngestTarget::job).substr(0, 64)));
  if (values.has(IngestTarget::time))
    note_stamp(values.text(IngestTarget::time).substr(0, kLongestStamp), run);
  if (values.has(IngestTarget::gpus) && rule.weight >= kKnowsGpus &&
      run.world_sizes.size() < kMostSizes)
    run.world_sizes.insert(to_step(values.number(IngestTarget::gpus)));
  if (values.has(IngestTarget::rank_params) && run.rank_params.size() < kMostRanks) {
    const auto tensor = to_step(values.number_or(IngestTarget::tensor_rank, 0));
    const auto pipeline = to_step(values.number_or(IngestTarget::pipeline_rank, 0));
    run.rank_params[{tensor, pipeline}] = values.number(IngestTarget::rank_params);
  }
  if (values.has(IngestTarget::host_memory) && run.last_step >= 0)
    raise(run.host_memory, values.number(IngestTarget::host_memory));
  run.settings.take(values, rule.weight, rule.assumed);
}

void note_totals(const TargetValues& values, LoggedRun& run) {
  for (const auto target : {IngestTarget::train_runtime, IngestTarget::train_samples_per_second,
                            IngestTarget::train_steps_per_second, IngestTarget::train_loss,
                            IngestTarget::train_epoch, IngestTarget::train_tokens_per_second})
    if (values.has(target) && std::isfinite(values.number(target)))
      run.totals.emplace(target, values.number(target));
  if (!std::isfinite(values.number_or(IngestTarget::train_loss, 0))) run.mean_is_nan = true;
  if (values.has(IngestTarget::tflops)) {
    if (run.tflops.empty()) run.tflops_before = run.last_step < 0;
    run.tflops.add(values.number(IngestTarget::tflops), run.last_step);
  }
  if (values.has(IngestTarget::tflops_profiler))
    run.tflops_profiler.add(values.number(IngestTarget::tflops_profiler));
  if (values.has(IngestTarget::saved_step))
    run.saved = to_step(values.number(IngestTarget::saved_step));
  if (values.has(IngestTarget::resume_step)) {
    run.resume_waits = true;
    run.resumed_after = to_step(values.number(IngestTarget::resume_step));
  }
  if (values.has(IngestTarget::skipped)) ++run.overflows;
}

void note_end(const Rule& rule, const TextPlace& where, LoggedRun& run) {
  if (!run.finished && !run.stopped)
    run.sign.note(rule, where.text);
  else if (rule.tells_failure())
    run.after_end = words_of(where.text);
  if (!(rule.finished && !run.stopped) && !rule.stopped) return;
  run.finished = run.finished || rule.finished;
  run.stopped = run.stopped || rule.stopped;
  run.end_words = words_of(where.text);
  if (run.sign.is_taken_back(rule)) run.sign = {};
}

void note_loss_line(const Rule& rule, const TargetValues& values, const TextPlace& where,
                    LoggedRun& run) {
  if (rule.weight < run.loss_weight) return;
  if (rule.weight > run.loss_weight) {
    run.losses = LossCurve();
    run.loss_count = 0;
    run.loss_label = where.label;
    run.loss_weight = rule.weight;
  }
  // Every node may print the same line, and a callback may print it again in another format.
  const double loss = values.number(IngestTarget::loss),
               epoch = values.number_or(IngestTarget::epoch, -1);
  const bool again = loss == run.last_loss && epoch == run.last_epoch && run.loss_count > 0;
  if (run.loss_label != where.label || again) return;
  run.last_loss = loss;
  run.last_epoch = epoch;
  run.sign.pass_step();
  ++run.loss_count;
  const auto step = step_of_loss(values, run);
  if (run.step_weight < 0) note_step_of_loss(step, run);
  run.nan += std::isfinite(loss) ? 0 : 1;
  run.losses.add({step, 0, loss});
}

bool tells_memory(const TargetValues& values) {
  return std::any_of(kMemoryKinds.begin(), kMemoryKinds.end(),
                     [&](const MemoryKind& kind) { return values.has(kind.target); });
}

namespace {

// Notes the growth of the peak memory, by the most accurate kind of memory in the log.
void note_peak(const TargetValues& values, LoggedRun& run) {
  std::size_t kind = 0;
  while (kind < kMemoryKinds.size() && !(values.number_or(kMemoryKinds[kind].target, 0) > 0))
    ++kind;
  if (kind == kMemoryKinds.size() || kind > run.peak_kind) return;
  if (kind < run.peak_kind) run.peaks.clear();
  run.peak_kind = kind;
  const double bytes = values.number(kMemoryKinds[kind].target);
  const auto told =
      values.has(IngestTarget::step) ? to_step(values.number(IngestTarget::step)) : run.last_step;
  const auto step = std::max<std::int64_t>(told, 0);
  auto& peaks = run.peaks;
  if (!peaks.empty() && bytes <= peaks.back().value) return;
  if (!peaks.empty() && peaks.back().step >= step)
    peaks.back().value = bytes;
  else if (peaks.size() < kMostPeaks)
    peaks.push_back({step, bytes});
  else
    peaks.back() = {step, bytes};
}

}  // namespace

void note_memory(const TargetValues& values, const TextPlace& where, LoggedRun& run) {
  const bool named = values.has(IngestTarget::rank) && !values.text(IngestTarget::rank).empty();
  const std::string rank(named ? values.text(IngestTarget::rank) : where.label);
  if (!run.memory.contains(rank) && run.memory.size() >= kMostRanks) return;
  auto& memory = run.memory[rank];
  for (std::size_t i = 0; i < kMemoryKinds.size(); ++i)
    if (run.last_step >= 0 || kMemoryKinds[i].before_steps)
      raise(memory[i], values.number_or(kMemoryKinds[i].target, 0));
  // A value printed before the training is not a peak of it.
  if (run.last_step >= 0 || values.has(IngestTarget::step)) note_peak(values, run);
}

void note_timer(const TargetValues& values, LoggedRun& run) {
  if (run.last_step < 0 || !values.has(IngestTarget::timer)) return;
  const auto name = values.text(IngestTarget::timer);
  auto found = run.timers.find(name);
  if (found == run.timers.end()) {
    if (run.timers.size() >= kMostNames || name.empty() || name.size() > 80) return;
    found = run.timers.emplace(std::string(name), SampleReservoir(2048)).first;
  }
  found->second.add(values.number(IngestTarget::timer_seconds), run.last_step);
}

void note_bar(const TargetValues& values, LoggedRun& run) {
  const auto total = to_step(values.number(IngestTarget::bar_total));
  const auto step = to_step(values.number(IngestTarget::bar_step));
  if (total <= 1 || step < 0 || step > total) return;
  auto found = std::find_if(run.bars.begin(), run.bars.end(),
                            [&](const ProgressBar& bar) { return bar.total == total; });
  if (found == run.bars.end()) {
    if (run.bars.size() >= kMostBars) return;
    run.bars.emplace_back();
    found = run.bars.end() - 1;
    found->total = total;
  }
  if (step <= found->last) return;
  const bool moves = values.number_or(IngestTarget::bar_seconds, 0) > 0 ||
                     values.number_or(IngestTarget::bar_rate, 0) > 0;
  found->last = step;
  found->last_elapsed = clock_seconds(values.text(IngestTarget::bar_elapsed));
  if (moves) {
    run.sign.pass_step();
    if (found->moves++ == 0) found->first = step;
    found->watch.tell(step, found->last_elapsed, 1);
  }
  std::rotate(found, found + 1, run.bars.end());  // the bar in use is the last
}

}  // namespace orch::ingest
