#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/base/json_fields.h"
#include "core/base/plain_file.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/record/events/event_line.h"
#include "core/record/thinned.h"

namespace orch::events {
namespace {

constexpr std::int64_t kUsualEnd = 32 << 10;  // several hundred steps: enough for a median
constexpr std::int64_t kMostOfEnd = 4 << 20;  // if few of the last lines are steps
constexpr std::size_t kFew = 16;
constexpr std::size_t kWarmUp = 3;
constexpr std::size_t kMostLosses = 2000, kMostPeaks = 400, kMostOfGpus = 400;  // points kept
constexpr std::size_t kMostSlow = 100;                                          // ranks
constexpr double kUsualLook = 10;  // seconds from one look at the GPUs to the next

// The increase from one line to the next, if both have the value and it grew; else nothing.
double growth(double from, double to) { return to > from ? to - from : 0; }

std::optional<double> told(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

// The mean of a value over the time.
class TimeMean {
 public:
  void add(const std::optional<double>& value, double seconds) {
    if (!value) return;
    sum_ += *value * seconds;
    seconds_ += seconds;
  }
  std::optional<double> value() const {
    return seconds_ > 0 ? std::optional(sum_ / seconds_) : std::nullopt;
  }

 private:
  double sum_ = 0, seconds_ = 0;
};

class HistoryReader {
 public:
  void read(const fs::path& folder) {
    const PlainFile file(folder / "events.jsonl");
    if (!file.is_open()) return;
    before_.reset();
    looked_.reset();
    fresh_ = true;
    read_from(file, 0);
  }
  void read_from(const PlainFile& file, std::int64_t from) {
    file.each_line(from, [this](std::string_view line) {
      take(line);  // ignores an incomplete last line
      return true;
    });
  }
  const std::vector<Event>& steps() const { return steps_; }
  // When the trainer wrote its last line, if lines of the supervisor follow it.
  const std::optional<double>& trainer_time() const { return trainer_time_; }

  // Medians of the steps (there must be some), without the warm-up.
  record::Measurement progress(bool from_start) && {
    const auto& last = steps_.back();
    auto& measured = out_.measured;
    measured.steps = std::max(measured.steps, last.step);
    measured.last_loss = told(last.loss);
    measured.peak_memory_from.clear();
    const bool warm = !from_start || steps_.size() <= 2 * kWarmUp;
    const std::span counted(steps_.begin() + (warm ? 0 : kWarmUp), steps_.end());
    const auto median = [&](double Event::*member, double above) -> std::optional<double> {
      std::vector<double> values;
      for (const auto& step : counted)
        if (step.*member > above) values.push_back(step.*member);
      return values.empty() ? std::nullopt : std::optional(statistics::median(std::move(values)));
    };
    if (const auto seconds = median(&Event::step_seconds, 0))
      measured.step_seconds = statistics::Interval{*seconds, {}, {}, 1};
    measured.tokens_per_second = median(&Event::tokens_per_second, 0);
    state("gradient_norm", told(before_->gradient_norm));
    state("learning_rate", told(before_->learning_rate));
    state("evaluation_loss", told(evaluation_));
    state("communicated_bytes", median(&Event::communicated, -1));
    state("bubble", median(&Event::bubble, -1));
    state_machine();
    return std::move(measured);
  }

  record::Record finish() && {
    auto& measured = out_.measured;
    std::vector<statistics::TimedStep> timed;
    std::vector<record::LossPoint> losses;
    for (const auto& step : steps_) {
      if (step.step_seconds > 0) timed.push_back({step.step, step.step_seconds, step.first});
      if (step.peak_memory > (measured.peaks.empty() ? 0 : measured.peaks.back().value))
        measured.peaks.push_back({step.step, step.peak_memory});
      if (const auto loss = told(step.loss))
        losses.push_back({step.step, told(step.tokens).value_or(0), *loss});
    }
    set_times(timed);
    if (!steps_.empty()) measured.steps = std::max(measured.steps, steps_.back().step);
    if (!losses.empty()) measured.last_loss = losses.back().loss;
    measured.losses = record::thinned(losses, &record::LossPoint::loss, kMostLosses);
    measured.peaks = record::thinned(measured.peaks, &record::StepPoint::value, kMostPeaks);
    state("gpu_use", use_.value());
    state("gpu_watts", watts_.value());
    for (auto* points : {&measured.gpu_use, &measured.gpu_watts})
      *points = record::thinned(*points, &record::StepPoint::value, kMostOfGpus);
    state_machine();
    return std::move(out_);
  }

 private:
  void take(std::string_view line) {
    const auto event = parse_event(line);
    if (!event) return;
    if (const auto time = told(event->time)) {
      if (out_.origin.start == 0) out_.origin.start = *time;
      out_.origin.end = *time;
    }
    const bool by_supervisor = event->name == "gpus" || event->name == "machine";
    if (!by_supervisor) {
      trainer_time_.reset();
      last_time_ = told(event->time);
    } else if (!trainer_time_) {
      trainer_time_ = last_time_;
    }
    if (event->name == "start") return begin(line);
    if (event->name == "machine") {
      others_share_ = event->others_share;
      clock_mhz_ = event->clock_mhz;
    }
    if (event->name == "gpus") add_gpus(*event);
    if (event->step < 0) return;
    if (event->name == "slow_rank") return add_slow_rank(*event, line);
    if (event->name == "step") return add(*event);
    if (event->name == "evaluation") evaluation_ = event->loss;
    if (event->name == "end") out_.measured.steps = std::max(out_.measured.steps, event->step);
  }

  void state(const char* name, const std::optional<double>& value) {
    if (value) out_.measured.stated.emplace(name, *value);
  }
  void state_machine() {
    state("others_share", told(others_share_));
    state("clock_mhz", told(clock_mhz_));
  }

  // Ranks that are slow now, or were at the end.
  void add_slow_rank(const Event& event, std::string_view line) {
    if (!(event.rank >= 0) || !(event.typical_seconds > 0)) return;
    const auto json = parse_json(line);
    const bool over = json.is_object() && json.value("over", nlohmann::json()) == true;
    const auto host = json.is_object() ? json.value("host", nlohmann::json()) : nlohmann::json();
    auto name = fmt::format("rank {:.0f}", event.rank);
    if (host.is_string()) name += " on " + printable(host.get<std::string>());
    auto& odd = out_.measured.odd_nodes;
    std::erase_if(odd, [&](const auto& node) { return node.name == name; });
    if (over || odd.size() >= kMostSlow) return;
    odd.push_back({name, event.busy_seconds, event.typical_seconds,
                   fmt::format("seconds of computing per step since step {:.0f}", event.since)});
  }

  // Of the step that was done last, which is the one before the line.
  void add_gpus(const Event& event) {
    if (!before_) return;
    auto& measured = out_.measured;
    // Looks are ten seconds apart at first, and further in a long run.
    const double seconds = looked_ ? growth(*looked_, event.time) : kUsualLook;
    looked_ = event.time;
    use_.add(told(event.use), seconds);
    watts_.add(told(event.watts), seconds);
    if (const auto use = told(event.use)) measured.gpu_use.push_back({before_->step, *use});
    if (const auto watts = told(event.watts)) measured.gpu_watts.push_back({before_->step, *watts});
  }

  void begin(std::string_view line) {
    const auto json = parse_json(line);
    out_.origin.versions.clear();
    for (const auto* name : {"torch", "device"})
      if (json.is_object() && json.contains(name) && json[name].is_string())
        out_.origin.versions.emplace_back(name, json[name].get<std::string>());
  }

  void add(Event event) {
    if (fresh_) resume(event.step);
    event.name = {};  // it points into the line, which is temporary
    event.first = std::exchange(fresh_, false);
    auto& step = steps_.emplace_back(event);
    step.communicated = Event::kNone;
    if (before_ && event.step > before_->step) compare(*before_, event, step);
    // The count begins with each attempt.
    if (event.step == 1) step.communicated = event.communicated;
    auto& peak = out_.measured.peak_memory_bytes;
    if (event.peak_memory > peak.value_or(0)) {
      peak = event.peak_memory;
      out_.measured.peak_memory_from = "of the fullest rank, by the trainer";
    }
    before_ = event;
  }

  // All steps from there on are repeated.
  void resume(std::int64_t step) {
    if (steps_.empty()) return;
    ++out_.measured.restarts;
    out_.measured.resumes.push_back(step);
    while (!steps_.empty() && steps_.back().step >= step) {
      steps_.pop_back();
      ++out_.measured.repeated_steps;
    }
    for (auto* points : {&out_.measured.gpu_use, &out_.measured.gpu_watts})
      std::erase_if(*points, [&](const auto& point) { return point.step >= step; });
  }

  // Derives from the previous line what this one does not contain.
  static void compare(const Event& before, const Event& event, Event& step) {
    const auto steps = static_cast<double>(event.step - before.step);
    const double elapsed = growth(before.time, event.time);
    if (!(step.step_seconds > 0)) step.step_seconds = elapsed / steps;
    if (!(step.tokens_per_second > 0) && elapsed > 0)
      step.tokens_per_second = growth(before.tokens, event.tokens) / elapsed;
    step.communicated = std::max(event.communicated - before.communicated, 0.0) / steps;
  }

  void set_times(const std::vector<statistics::TimedStep>& timed) {
    if (timed.empty()) return;
    auto& measured = out_.measured;
    measured.take(timed);
    std::vector<double> rates;
    for (const auto& step : steps_)
      if (step.tokens_per_second > 0 && step.step >= measured.window.first)
        rates.push_back(step.tokens_per_second);
    if (rates.empty()) return;
    measured.tokens_per_second = statistics::median(std::move(rates));
    measured.days_per_100b_tokens = 100e9 / *measured.tokens_per_second / 86400;
  }

  record::Record out_;
  std::vector<Event> steps_;  // with the bytes communicated in each step
  std::optional<Event> before_;
  double evaluation_ = Event::kNone;                               // held-out loss, the last one
  double others_share_ = Event::kNone, clock_mhz_ = Event::kNone;  // of the last attempt with them
  std::optional<double> trainer_time_, last_time_;
  std::optional<double> looked_;
  TimeMean use_, watts_;
  bool fresh_ = true;
};

}  // namespace

std::optional<record::TrainingProgress> read_progress(const fs::path& attempt_folder, double now) {
  const PlainFile file(attempt_folder / "events.jsonl");
  if (!file.is_open()) return std::nullopt;
  for (const auto bytes : {kUsualEnd, kMostOfEnd}) {
    const auto from = std::max<std::int64_t>(0, file.size() - bytes);
    HistoryReader reader;
    reader.read_from(file, from);
    const auto count = reader.steps().size();
    if (from > 0 && bytes == kUsualEnd && count < kFew) continue;
    if (count == 0) return std::nullopt;
    // The supervisor's looks at GPUs are no progress.
    const double last = reader.trainer_time().value_or(file.modified());
    return record::TrainingProgress{std::move(reader).progress(from == 0),
                                    std::max(0.0, now - last)};
  }
  return std::nullopt;
}

record::Record read_history(const std::vector<fs::path>& attempt_folders) {
  HistoryReader reader;
  for (const auto& folder : attempt_folders) reader.read(folder);
  auto out = std::move(reader).finish();
  for (auto folder = attempt_folders.rbegin(); folder != attempt_folders.rend(); ++folder)
    if (read_profile(*folder, out.measured)) break;
  return out;
}

}  // namespace orch::events
