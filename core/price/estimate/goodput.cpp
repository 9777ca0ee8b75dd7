// Computes how long a training takes with failures. Failures are a Poisson process over the time in
// which jobs hold their GPUs. Every job starts from the last checkpoint that is complete, so jobs
// are independent and alike, and the time per unit of progress is the mean time of a job over its
// mean progress (the renewal theorem). A job lasts min(X, L) for an exponential X and its limit L.
// A save in the background begins `stall` seconds of pause after its interval and counts once it is
// complete, `save` seconds later. So the k-th interval of a job counts if the job lives to
// start + save + k (interval + stall), and a job that reaches its limit loses nothing.
//
// Without a limit the sum over k is geometric and gives, with M the mean time between failures,
//   (M + detection + queue_wait) e^((start + save) / M) (e^((interval + stall) / M) - 1) /
//   interval,
// which is Daly's exact form (2006, equation 20) with R = start + save and delta = stall, and
// waits.
#include "core/price/estimate/goodput.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/plan/slurm.h"

namespace orch::estimate {
namespace {

using plan::Estimate;
using plan::EstimateItem;
using plan::Run;
using plan::TrainingStretch;

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kNormal90 = 1.6449;  // 90 % of a normal distribution lie within this many sigmas

// The mean of min(X, end) for an exponential X.
double mean_until(double end, double failures) {
  return failures > 0 ? -std::expm1(-failures * end) / failures : end;
}

// The sum of e^(-failures k segment) for k = 1 to count, which may be infinite.
double discounted(double count, double segment, double failures) {
  if (failures <= 0) return count;
  return -std::expm1(-failures * segment * count) / std::expm1(failures * segment);
}

// Without failures and limits there is one endless job.
TimeLoss undisturbed(double interval, double segment) {
  TimeLoss out;
  out.held = segment / interval;
  out.saving = out.held - 1;
  return out;
}

}  // namespace

void TimeLoss::add(const TimeLoss& other, double times) {
  held += times * other.held;
  queue += times * other.queue;
  saving += times * other.saving;
  restarting += times * other.restarting;
  repeated += times * other.repeated;
  failures += times * other.failures;
}

TimeLoss time_lost(const FailureModel& m, double interval) {
  // The next save begins when the one before is complete.
  const double segment = m.stall + std::max(interval, m.save);
  const bool limited = std::isfinite(m.job_seconds);
  if (m.failures <= 0 && !limited) return undisturbed(interval, segment);

  const double computing = m.job_seconds - m.start - m.last_save;
  if (!(computing > 0)) return {kNone, 0, 0, 0, 0, 0};
  const double count = limited ? std::floor(computing / segment) : kNone;
  const double reached = limited ? std::exp(-m.failures * m.job_seconds) : 0;
  const double failed = 1 - reached;
  const double segments =
      std::exp(-m.failures * (m.start + m.save)) * discounted(count, segment, m.failures);
  const double rest = limited ? std::min(interval, computing - count * segment) : 0;
  const double progress = segments * interval + reached * rest;

  TimeLoss out;
  out.failures = failed;
  out.restarting = mean_until(std::min(m.start, m.job_seconds), m.failures) + failed * m.detection;
  out.saving = segments * (segment - interval) + reached * m.last_save;
  out.held = mean_until(m.job_seconds, m.failures) + failed * m.detection;
  out.queue = m.queue_wait;
  out.repeated = std::max(0.0, out.held - out.restarting - out.saving - progress);
  TimeLoss per_second{0, 0, 0, 0, 0, 0};
  per_second.add(out, 1 / progress);
  return per_second;
}

// The loss has one minimum, but for the steps that the end of a job makes in it, and that is near
// Young's first-order rule, sqrt(2 stall M): a coarse search around it, then a golden section.
double best_interval(const FailureModel& model, double longest) {
  constexpr int kPoints = 12;
  constexpr double kAround = 8, kPrecise = 0.01, kGolden = 0.6180339887498949;
  const double least = std::min(longest, std::max(1.0, model.save));
  if (model.failures <= 0 || longest <= least) return longest;
  const double guess = std::clamp(std::sqrt(2 * model.stall / model.failures), least, longest);
  const double from = std::log(std::max(least, guess / kAround));
  const double span = std::log(std::min(longest, guess * kAround)) - from;
  const auto loss = [&](double at) { return time_lost(model, std::exp(at)).wall(); };
  int best = 0;
  double best_loss = kNone;
  for (int i = 0; i <= kPoints; ++i)
    if (const double here = loss(from + span * i / kPoints); here < best_loss)
      best = i, best_loss = here;
  double low = from + span * std::max(0, best - 1) / kPoints,
         high = from + span * std::min(kPoints, best + 1) / kPoints;
  while (high - low > kPrecise) {
    const double one = high - kGolden * (high - low), other = low + kGolden * (high - low);
    if (loss(one) < loss(other))
      high = other;
    else
      low = one;
  }
  return std::exp((low + high) / 2);
}

// Wilson and Hilferty (1931): the cube root of a Gamma variable is nearly normal.
double gamma_quantile(double shape, double normal) {
  const double ninth = 1 / (9 * shape);
  const double root = 1 - ninth + normal * std::sqrt(ninth);
  return std::max(0.0, root * root * root);
}

// Our trainers save fp32 weights and the optimizer's moments, frameworks 16-bit weights beside them
// (2.3 TiB of BLOOM-176B).
double checkpoint_bytes(const Run& run) {
  if (run.training.keep_checkpoints == 0) return 0;
  const auto* master = std::get_if<bool>(&run.setting("master_weights"));
  const bool narrow = master && !*master && run.dtype() != "fp32";
  const double weights = narrow ? 2 : run.framework.empty() ? 4 : 6;
  const double moments = run.text_setting("optimizer") == "adafactor" ? 0 : 8;
  return run.model.params() * (weights + moments);
}

FailureModel failure_model(const Run& run, std::int64_t nodes, std::int64_t gpus,
                           double step_seconds, double seconds) {
  const auto& partition = *run.partition;
  const auto& site = partition.operation;
  const double bytes = checkpoint_bytes(run);
  double bandwidth = site.checkpoint_bandwidth.value * static_cast<double>(nodes);
  if (!site.file_system_bandwidth.origin.empty())
    bandwidth = std::min(bandwidth, site.file_system_bandwidth.value);
  FailureModel out;
  out.failures = partition.failures_per_gpu_hour() * static_cast<double>(gpus) / 3600;
  out.last_save = bytes / bandwidth;
  // What frameworks do unless told otherwise: training waits for its save.
  const bool blocks = !run.framework.empty();
  out.stall = blocks ? out.last_save
                     : std::min(out.last_save,
                                bytes / static_cast<double>(gpus) / site.snapshot_bandwidth.value);
  out.save = blocks ? 0 : out.last_save;
  out.start = site.start.value + bytes / bandwidth;
  out.detection = site.detection.value;
  out.queue_wait = site.queue_wait.value;
  const auto limit = plan::parse_slurm_time(run.job.time);
  if (!limit) return out;
  const double stops = *limit - static_cast<double>(plan::signal_seconds(run.job, step_seconds));
  if (out.start + seconds > stops) out.job_seconds = std::min(*limit, stops + out.last_save);
  return out;
}

namespace {

// A stretch of the training with its model.
struct FailingStretch {
  FailureModel model;
  double seconds = 0;  // of computing
  double step_seconds = 0;
  double gpus = 0;  // without spare ones
};

std::vector<FailingStretch> stretches_of(const Run& run, const Estimate& estimate) {
  std::vector<FailingStretch> out;
  const double all = estimate.days_to_train * kDay;
  const auto add = [&](std::int64_t nodes, std::int64_t gpus, double step, double seconds) {
    out.push_back(
        {failure_model(run, nodes, gpus, step, all), seconds, step, static_cast<double>(gpus)});
  };
  for (const auto& stretch : estimate.schedule)
    add(stretch.nodes, stretch.gpus, (stretch.first_step_seconds + stretch.last_step_seconds) / 2,
        stretch.seconds);
  if (out.empty()) add(run.nodes, run.gpus, estimate.step_seconds, all);
  return out;
}

// The loss of each stretch with this many steps between checkpoints; a stretch that is shorter
// saves at its end.
TimeLoss loss_of(const FailingStretch& stretch, double steps, double more_failures) {
  auto model = stretch.model;
  model.failures *= more_failures;
  return time_lost(model, std::min(steps * stretch.step_seconds, stretch.seconds));
}

// Sums over the training, in seconds.
TimeLoss total_loss(const std::vector<FailingStretch>& stretches, double steps,
                    double more_failures = 1) {
  TimeLoss sum{0, 0, 0, 0, 0, 0};
  for (const auto& each : stretches) sum.add(loss_of(each, steps, more_failures), each.seconds);
  return sum;
}

// Two significant digits.
std::int64_t rounded(double steps) {
  double unit = 1;
  while (steps / unit >= 100) unit *= 10;
  return static_cast<std::int64_t>(std::max(1.0, unit * std::round(steps / unit)));
}

// Without steps only the end of a stretch or of its job saves.
plan::CheckpointInterval interval_of(const std::vector<FailingStretch>& stretches,
                                     std::int64_t steps) {
  const double count = steps > 0 ? static_cast<double>(steps) : kNone;
  double seconds = 0;
  for (const auto& each : stretches) seconds += each.seconds;
  const double wall = total_loss(stretches, count).wall();
  return {steps, static_cast<double>(steps) * stretches.back().step_seconds, 1 - seconds / wall};
}

// The interval that is best for the full batch, which is nearly all of a training.
plan::CheckpointInterval best_of(const std::vector<FailingStretch>& stretches) {
  const auto& full = stretches.back();
  if (full.model.failures <= 0 || full.seconds <= full.step_seconds) return {};
  const double best = best_interval(full.model, full.seconds);
  return interval_of(stretches, rounded(best / full.step_seconds));
}

// The range of the rate of failures and that of the step time are independent.
void add_range(const std::vector<FailingStretch>& stretches, double steps, double spread_count,
               Estimate& out) {
  const auto bound = [&](double normal, double step_bound) {
    const double with = total_loss(stretches, steps, gamma_quantile(spread_count, normal)).wall();
    const double failures = std::log(with / kDay / out.days_with_failures);
    const double speed =
        step_bound > 0 && out.step_seconds > 0 ? std::log(step_bound / out.step_seconds) : 0;
    return out.days_with_failures * std::exp(std::copysign(std::hypot(failures, speed), normal));
  };
  out.days_with_failures_low = bound(-kNormal90, out.step_low);
  out.days_with_failures_high = bound(kNormal90, out.step_high);
}

// Without a checkpoint a training must end within a job, and each failure starts it again.
bool is_endless(const std::vector<FailingStretch>& stretches) {
  constexpr double kHopeless = 1000;
  double seconds = 0;
  for (const auto& each : stretches) {
    if (std::isfinite(each.model.job_seconds)) return true;
    seconds += each.seconds;
  }
  return !(total_loss(stretches, kNone).wall() < kHopeless * seconds);
}

// Without `steps`: of the computing alone, without failures.
void add_expense(const Run& run, const std::vector<FailingStretch>& stretches,
                 std::optional<double> steps, Estimate& out) {
  const auto& partition = *run.partition;
  const auto spare = static_cast<double>(run.spare_gpus());
  const double busy = partition.busy_watts(), idle = partition.idle_watts();
  double gpu_seconds = 0, joules = 0;
  for (const auto& each : stretches) {
    double held = each.seconds, waits = 0;
    if (steps) {
      const auto loss = loss_of(each, *steps, 1);
      held = loss.held * each.seconds;
      waits = loss.restarting * each.seconds;
    }
    gpu_seconds += held * (each.gpus + spare);
    joules += each.gpus * ((held - waits) * busy + waits * idle) + spare * held * idle;
  }
  out.cost = gpu_seconds / 3600 * partition.price_per_gpu_hour();
  out.currency = partition.operation.currency;
  out.energy_kwh = joules * partition.operation.pue.value / kJoulesPerKwh;
  out.co2_kg = out.energy_kwh * partition.operation.gco2_per_kwh.value / 1000;
}

void explain_losses(const Run& run, const FailureModel& m, const TimeLoss& sum, Estimate& out) {
  const auto& site = run.partition->operation;
  const double steps =
      static_cast<double>((out.checkpoint.steps > 0 ? out.checkpoint : out.best_checkpoint).steps);
  const auto by = [](const plan::Constant& constant) { return constant.origin; };
  const auto failures = fmt::format("{:.1f} failures, one in {} GPU-hours", out.interruptions,
                                    group_digits(1 / run.partition->failures_per_gpu_hour()));
  const std::array items{
      EstimateItem{"computing that is repeated", "repeated", sum.repeated,
                   fmt::format("{}; a save is complete after {}; {}", failures,
                               format_seconds(m.last_save), by(site.failures))},
      EstimateItem{"restarts", "restarts", sum.restarting,
                   fmt::format("detection {} ({}), then {} to start and read {}",
                               format_seconds(m.detection), by(site.detection),
                               format_seconds(m.start), format_bytes(checkpoint_bytes(run)))},
      EstimateItem{"saving", "saving", sum.saving,
                   fmt::format("{} stop training for {} each; every {} steps",
                               format_bytes(checkpoint_bytes(run)), format_seconds(m.stall),
                               group_digits(steps))},
      EstimateItem{"waiting in the queue", "queue", sum.queue,
                   fmt::format("{} before each job ({})", format_seconds(m.queue_wait),
                               by(site.queue_wait))}};
  for (const auto& item : items)
    if (item.amount > 0) out.lost.push_back(item);
}

}  // namespace

void add_failures(const Run& run, Estimate& out) {
  if (!(out.days_to_train > 0)) return;
  const auto stretches = stretches_of(run, out);
  if (run.training.keep_checkpoints > 0) {
    out.best_checkpoint = best_of(stretches);
    out.checkpoint = interval_of(stretches, run.training.checkpoint_every);
  } else if (is_endless(stretches)) {
    return add_expense(run, stretches, std::nullopt, out);
  }
  const auto& used = out.checkpoint.steps > 0 ? out.checkpoint : out.best_checkpoint;
  const double steps = used.steps > 0 ? static_cast<double>(used.steps) : kNone;
  const auto sum = total_loss(stretches, steps);
  if (!std::isfinite(sum.wall())) return add_expense(run, stretches, std::nullopt, out);
  out.interruptions = sum.failures;
  out.days_with_failures = sum.wall() / kDay;
  add_range(stretches, steps, run.partition->operation.failure_count.value, out);
  add_expense(run, stretches, steps, out);
  out.lost.clear();
  if (!out.time.empty()) explain_losses(run, stretches.back().model, sum, out);
}

}  // namespace orch::estimate
