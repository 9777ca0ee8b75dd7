// Divides the time since a run's first start by what it was spent on. Attempts are recorded by the
// job script, steps and checkpoints by the trainer on one of its nodes, so both clocks are nearly
// the same; no part is ever negative.
//
// Of an attempt, the time before its first step and after its last one is that of starting and
// ending. Between two lines of steps, the step's own duration is computing, and the rest is saving
// if the first of them was saved, else other things, such as an evaluation. Of lines several steps
// apart, only saving can be told: what is above the usual time of so many steps. The computing of a
// step that a later attempt made again was lost.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/median.h"
#include "core/base/plain_file.h"
#include "core/record/events/collect.h"
#include "core/record/events/event_line.h"

namespace orch::events {
namespace {

struct StepLine {
  std::int64_t step = 0;
  double time = 0;     // when it ended
  double seconds = 0;  // 0: unknown
};

struct AttemptEvents {
  std::vector<StepLine> steps;
  std::map<std::int64_t, double> saved;  // when the checkpoint of a step was complete
  double first = 0, last = 0;            // of all lines

  // After `from` or a later step before `to`.
  bool saved_between(const StepLine& from, const StepLine& to) const {
    const auto found = saved.lower_bound(from.step);
    return found != saved.end() && found->first < to.step;
  }
};

// The median time per step between lines without a save in between; 0: there are none.
double usual_seconds(const AttemptEvents& events) {
  std::vector<double> out;
  for (std::size_t i = 1; i < events.steps.size(); ++i) {
    const auto &from = events.steps[i - 1], &to = events.steps[i];
    if (to.step > from.step && !events.saved_between(from, to))
      out.push_back((to.time - from.time) / static_cast<double>(to.step - from.step));
  }
  return out.empty() ? 0 : median(std::move(out));
}

AttemptEvents read_events(const fs::path& folder) {
  AttemptEvents out;
  const PlainFile file(folder / "events.jsonl");
  if (!file.is_open()) return out;
  file.each_line(0, [&](std::string_view line) {
    const auto event = parse_event(line);
    if (!event || std::isnan(event->time)) return true;
    if (out.first == 0) out.first = event->time;
    out.last = std::max(out.last, event->time);
    if (event->name == "step" && event->step >= 0)
      out.steps.push_back(
          {event->step, event->time, event->step_seconds > 0 ? event->step_seconds : 0});
    if (event->name == "checkpoint" && event->step >= 0) out.saved[event->step] = event->time;
    return true;
  });
  return out;
}

enum TimeUse { u_computing, u_repeated, u_starting, u_saving, u_queue, u_other, u_count };

class TimeAccount {
 public:
  // redone: the first step that a later attempt made.
  void add(const AttemptEvents& events, double start, double end, std::int64_t redone) {
    if (events.steps.empty()) return take(u_starting, end - start);
    const auto& first = events.steps.front();
    const auto& last = events.steps.back();
    const double began = std::max(start, first.time - first.seconds);
    take(u_starting, began - start);
    compute(first, first.time - began, redone);
    const double usual = usual_seconds(events);
    for (std::size_t i = 1; i < events.steps.size(); ++i)
      between(events, events.steps[i - 1], events.steps[i], redone, usual);
    const auto saved = events.saved.find(last.step);
    const double complete = saved == events.saved.end()
                                ? last.time
                                : std::clamp(saved->second, last.time, std::max(last.time, end));
    take(u_saving, complete - last.time);
    take(u_starting, end - complete);
  }
  void wait(double seconds) { take(u_queue, seconds); }

  double of(TimeUse use) const { return seconds_[use]; }
  bool saved_between() const { return saved_between_; }
  double all() const {
    double sum = 0;
    for (const double each : seconds_) sum += each;
    return sum;
  }

 private:
  void take(TimeUse use, double seconds) { seconds_[use] += std::max(0.0, seconds); }
  void compute(const StepLine& step, double seconds, std::int64_t redone) {
    take(step.step < redone ? u_computing : u_repeated, seconds);
  }

  void between(const AttemptEvents& events, const StepLine& from, const StepLine& to,
               std::int64_t redone, double usual) {
    const double elapsed = to.time - from.time;
    const bool saved = events.saved_between(from, to);
    // A trainer that writes some steps only does not say how long the others took.
    double computing = elapsed;
    if (to.step == from.step + 1 && to.seconds > 0)
      computing = std::min(elapsed, to.seconds);
    else if (saved && usual > 0)
      computing = std::min(elapsed, usual * static_cast<double>(to.step - from.step));
    compute(to, computing, redone);
    saved_between_ = saved_between_ || (saved && elapsed > computing);
    take(saved ? u_saving : u_other, elapsed - computing);
  }

  std::array<double, u_count> seconds_{};
  bool saved_between_ = false;
};

// The first step of any attempt after this one.
std::int64_t redone_after(const std::vector<AttemptEvents>& all, std::size_t attempt) {
  auto out = std::numeric_limits<std::int64_t>::max();
  for (auto i = attempt + 1; i < all.size(); ++i)
    if (!all[i].steps.empty()) out = std::min(out, all[i].steps.front().step);
  return out;
}

}  // namespace

std::vector<plan::EstimateItem> spent_time(const std::vector<fs::path>& attempt_folders,
                                           const std::vector<record::Attempt>& attempts) {
  std::vector<AttemptEvents> all;
  for (const auto& folder : attempt_folders) all.push_back(read_events(folder));
  TimeAccount account;
  double before = 0;  // the end of the attempt before
  for (std::size_t i = 0; i < all.size() && i < attempts.size(); ++i) {
    const auto& attempt = attempts[i];
    const double start = attempt.start > 0 ? attempt.start : all[i].first;
    const double end = std::max(attempt.end > 0 ? attempt.end : attempt.seen, all[i].last);
    if (!(start > 0)) return {};
    if (before > 0) account.wait(start - before);
    account.add(all[i], start, end, redone_after(all, i));
    before = std::max(end, start);
  }
  const bool lost = attempts.size() > 1 || account.saved_between();
  if (!lost || !(account.of(u_computing) > 0)) return {};
  std::vector<plan::EstimateItem> out{
      {"computing", "computing", account.of(u_computing)},
      {"steps that were made again", "repeated", account.of(u_repeated)},
      {"starting, loading and ending", "restarts", account.of(u_starting)},
      {"saving", "saving", account.of(u_saving)},
      {"waiting between attempts", "queue", account.of(u_queue)},
      {"between steps", "other", account.of(u_other)},
      {"time since the first start", "sum", account.all()}};
  std::erase_if(out, [](const auto& item) { return !(item.amount > 0); });
  return out;
}

}  // namespace orch::events
