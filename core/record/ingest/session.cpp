#include "core/record/ingest/session.h"

#include <algorithm>
#include <bit>

#include "core/record/ingest/repeats.h"

namespace orch::ingest {
namespace {

constexpr std::size_t kMostRuns = 1000;      // of one log
constexpr std::size_t kMostWaiting = 8;      // starts
constexpr int kSureFailure = 20;             // the priority from which on a run is over
constexpr std::uint64_t kTimedSteps = 2048;  // whose timers are all read; then ever fewer

}  // namespace

Run& Session::current() {
  if (!waiting_.empty()) return *waiting_.back();
  if (!open_) open_ = std::make_unique<Run>();
  return *open_;
}

bool Session::wants_timers() const {
  if (!open_ || !waiting_.empty() || open_->last_step < 0) return false;
  const auto seen = open_->times.seen();
  return seen % std::max<std::uint64_t>(1, std::bit_floor(seen / kTimedSteps)) == 0;
}

void Session::take(const Rule& rule, const Values& values, const Where& where) {
  if (rule.begins) begin(rule, where);
  if (rule.kind == Kind::none) return;
  if (rule.kind == Kind::step) return take_step(rule, values, where);
  auto& run = rule.kind == Kind::loss ? run_of_step(values) : current();
  note_place(rule, where, run);
  switch (rule.kind) {
    case Kind::loss:
      return note_loss_line(rule, values, where, run);
    case Kind::memory:
      return note_memory(values, where, run);
    case Kind::timers:
      return note_timer(values, run);
    case Kind::bar:
      return note_bar(values, run);
    default:
      note_settings(rule, values, run);
      note_totals(values, run);
      note_end(rule, where, run);
      sign_.note(rule, where.text);
  }
}

void Session::begin(const Rule& rule, const Where& where) {
  auto& run = current();
  // A traceback alone may be a warning that someone printed.
  const bool over = run.finished || run.stopped || run.sign.priority >= kSureFailure;
  if (run.has_steps() || over || run.marks.contains(&rule)) {
    fold();
    if (waiting_.size() >= kMostWaiting) {
      settle(std::move(waiting_.front()), nullptr);
      waiting_.erase(waiting_.begin());
    }
    waiting_.push_back(std::make_unique<Run>());
    waiting_.back()->first_line = where.line;
  }
  current().marks.insert(&rule);
}

// Starts that say the same, as every node may print one, are one start.
void Session::fold() {
  for (std::size_t i = 0; i + 1 < waiting_.size();) {
    const auto& next = *waiting_[i + 1];
    if (waiting_[i]->has_ended() || waiting_[i]->settings.contradicts(next.settings)) {
      ++i;
    } else {
      waiting_[i]->merge_start(next);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
}

Run& Session::run_of_step(const Values& values) {
  if (!waiting_.empty()) settle_all(&values);
  return current();
}

void Session::take_step(const Rule& rule, const Values& values, const Where& where) {
  const bool counts_steps = values.has(Target::step);
  const auto counter = counts_steps ? Target::step : Target::micro_step;
  const auto step = values.has(counter) ? to_step(values.number(counter)) : -1;
  if (step < 0) return;
  auto& run = run_of_step(values);
  if (rule.weight < run.step_weight) return;
  if (rule.weight > run.step_weight) {
    run.times.clear();
    run.watch.clear();
    run.numbered.clear();
    run.last_number = 0;
    run.counts_micro_batches = !counts_steps;
    run.work = Work::none;
    run.first_step = run.last_step = -1;
    run.step_weight = rule.weight;
    run.start_waits = true;
  }
  if (run.start_waits || run.resume_waits) run.step_label = where.label;
  const auto pace = pace_of(values);
  note_rank_pace(where, step, pace, run);
  if (tells_memory(values)) note_memory(values, where, run);
  if (run.step_label != where.label) return;  // one rank's steps count
  if (step <= run.last_step) {
    if (is_copy(run, step, shape_of(values, pace.seconds))) return;
    fall_back(rule, values, where, step);
  } else if (run.copying) {
    run.copying = run.resume_waits = false;  // the copy is over, and the run goes on
  }
  note_step(rule, values, where, step, pace, *open_);
  sign_.pass_step();
}

void Session::fall_back(const Rule& rule, const Values& values, const Where& where,
                        std::int64_t step) {
  auto& run = *open_;
  run.copying = false;
  const bool other = !run.resume_waits && has_other_settings(run, values, step);
  if (other || begins_anew(run, run.resumed_after, step)) {
    auto before = std::move(open_);
    auto& fresh = current();
    if (!other) fresh.take_settings(*before);
    close(std::move(before));
    fresh.step_weight = rule.weight;
    fresh.step_label = where.label;
    return;
  }
  run.repeated += run.last_step - step + 1;
  run.times.drop_from(step);
  run.watch.drop_from(step);
  run.numbered.drop_from(step);
  run.losses.drop_from(step);
  std::erase_if(run.peaks, [&](const auto& peak) { return peak.step >= step; });
  run.resume_waits = true;
}

void Session::settle_all(const Values* first) {
  fold();
  auto starts = std::move(waiting_);
  waiting_.clear();
  for (std::size_t i = 0; i < starts.size(); ++i)
    settle(std::move(starts[i]), i + 1 == starts.size() ? first : nullptr);
}

bool Session::is_repeat(const Run& start, const Values& first) const {
  if (!open_->has_steps() || tells_again(*open_, first)) return false;
  const auto step = first.has(Target::step) ? to_step(first.number(Target::step)) : -1;
  if (open_->finished && step <= open_->last_step) return true;
  return step < 0 ? begins_anew(start) : begins_anew(*open_, start.resumed_after, step);
}

void Session::settle(std::unique_ptr<Run> start, const Values* first) {
  if (!open_ || !open_->says_anything()) {
    if (open_) start->jobs.merge(open_->jobs);
    open_ = std::move(start);
    return;
  }
  const bool same = !open_->settings.contradicts(start->settings);
  // What came after the end without failing: an evaluation, a second engine.
  if (same && open_->finished && !first && !start->sign.is_there()) return;
  if (!same || (first && is_repeat(*start, *first))) {
    close(std::move(open_));
    open_ = std::move(start);
    return;
  }
  const bool began_before = open_->has_steps() || open_->has_ended();
  open_->merge_start(*start);
  if (!began_before) return;
  if (first && open_->last_step >= 0)
    open_->resume_waits = true;  // counted at the step, if that is no copy
  else
    ++open_->restarts;
}

void Session::close(std::unique_ptr<Run> run) {
  if (!run) return;
  if (!run->says_anything() && !(with_ends_ && run->sign.is_there())) {
    unread_.merge(run->frameworks);
    unread_.merge(run->hints);
    return;
  }
  if (done_ < kMostRuns)
    hand_on_(*run);
  else
    ++left_out_;
  ++done_;
}

void Session::finish() {
  settle_all(nullptr);
  close(std::move(open_));
}

}  // namespace orch::ingest
