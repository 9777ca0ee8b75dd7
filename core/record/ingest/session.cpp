#include "core/record/ingest/session.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orch::ingest {
namespace {

constexpr std::size_t kMostRuns = 1000;      // per log
constexpr std::size_t kMostWaiting = 8;      // waiting starts
constexpr int kSureFailure = 20;             // a failure of this priority ends a run
constexpr std::uint64_t kTimedSteps = 2048;  // steps before the timers are only sampled
constexpr std::int64_t kLag = 2;             // steps by which ranks without labels may lag

// A log may have a step twice. The functions below decide whether it was printed twice, done twice,
// or belongs to two runs.

// For a step that is not after the last one: true if it is only printed again. Ranks without labels
// may lag a little. The step after a loaded checkpoint is done again.
bool is_copy(LoggedRun& run, std::int64_t step, const LoggedStepTimes::Kept& shape) {
  const bool lags = !run.resume_waits && step >= run.last_step - kLag;
  const auto before = run.times.kept(step);
  if (!before) return run.copying || lags;
  if (*before != shape) return lags;
  // Equal times may be a coincidence, and the step after a loaded checkpoint may repeat its loss.
  const bool loaded = run.resumed_after >= 0 && run.resumed_after + 1 == step;
  const bool again = run.resume_waits && !run.copying && step > run.first_step;
  if (again && (loaded || shape.mark == 0)) return false;
  run.copying = run.copying || step < run.last_step;
  return true;
}

// For the first step after a start: true if the run already has an exact copy of it.
bool tells_again(const LoggedRun& run, const TargetValues& values) {
  if (!values.has(IngestTarget::step)) {
    const auto first = run.losses.first();
    return first && first->loss == values.number_or(IngestTarget::loss, 0);
  }
  const auto before = run.times.kept(to_step(values.number(IngestTarget::step)));
  return before && *before == shape_of(values, pace_of(values).seconds);
}

// True if a step is the first one of a training that did not load a checkpoint.
bool begins_anew(const LoggedRun& run, std::int64_t resumed_after, std::int64_t step) {
  if (resumed_after > 0 || step > run.first_step) return false;
  const auto& steps = run.times.steps();
  const auto apart = steps.size() < 2 ? run.first_step : steps[1].step - steps[0].step;
  return run.first_step <= std::max<std::int64_t>(1, apart);
}

// The same for a start whose losses are printed without their step.
bool begins_anew(const LoggedRun& start) {
  const auto planned = start.settings.whole(IngestTarget::steps_planned);
  if (!planned || start.resumed_after > 0) return false;
  return std::none_of(start.bars.begin(), start.bars.end(), [&](const ProgressBar& bar) {
    return bar.total == *planned && bar.moves > 0 && bar.first > 1;
  });
}

// For a step that is not after the last one, without another sign of a new run: true if its
// settings differ from those of the run.
bool has_other_settings(const LoggedRun& run, const TargetValues& values, std::int64_t step) {
  const auto planned = run.settings.number(IngestTarget::steps_planned);
  if (planned && values.has(IngestTarget::steps_planned) &&
      *planned != values.number(IngestTarget::steps_planned))
    return true;
  return values.has(IngestTarget::gbs) && run.first_batch > 0 && step <= run.first_step &&
         values.number(IngestTarget::gbs) != run.first_batch;
}

}  // namespace

LoggedRun& LogSession::current() {
  if (!waiting_.empty()) return *waiting_.back();
  if (!open_) open_ = std::make_unique<LoggedRun>();
  return *open_;
}

bool LogSession::wants_timers() const {
  if (!open_ || !waiting_.empty() || open_->last_step < 0) return false;
  const auto seen = open_->times.seen();
  return seen % std::max<std::uint64_t>(1, std::bit_floor(seen / kTimedSteps)) == 0;
}

void LogSession::take(const Rule& rule, const TargetValues& values, const TextPlace& where) {
  if (rule.begins) begin(rule, where);
  if (rule.kind == RuleKind::none) return;
  if (rule.kind == RuleKind::step) return take_step(rule, values, where);
  auto& run = rule.kind == RuleKind::loss ? run_of_step(values) : current();
  if (rule.own && !run.frameworks.contains(rule.framework)) return;
  note_place(rule, where, run);
  switch (rule.kind) {
    case RuleKind::loss:
      return note_loss_line(rule, values, where, run);
    case RuleKind::memory:
      return note_memory(values, where, run);
    case RuleKind::timers:
      return note_timer(values, run);
    case RuleKind::bar:
      return note_bar(values, run);
    default:
      note_settings(rule, values, run);
      note_totals(values, run);
      note_end(rule, where, run);
      sign_.note(rule, where.text);
  }
}

void LogSession::begin(const Rule& rule, const TextPlace& where) {
  auto& run = current();
  // A traceback alone may be a printed warning, so it does not end a run.
  const bool over = run.finished || run.stopped || run.sign.priority >= kSureFailure;
  if (run.has_steps() || over || run.marks.contains(&rule)) {
    fold();
    if (waiting_.size() >= kMostWaiting) {
      settle(std::move(waiting_.front()), nullptr);
      waiting_.erase(waiting_.begin());
    }
    waiting_.push_back(std::make_unique<LoggedRun>());
    waiting_.back()->first_line = where.line;
  }
  current().marks.insert(&rule);
}

// Merges waiting starts with the same settings, because every node may print a start.
void LogSession::fold() {
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

LoggedRun& LogSession::run_of_step(const TargetValues& values) {
  if (!waiting_.empty()) settle_all(&values);
  return current();
}

// The step of a line that counts samples instead; -1: unknown.
static std::int64_t step_of_samples(const TargetValues& values, const LoggedRun& run) {
  const auto batch = run.settings.number(IngestTarget::gbs).value_or(0);
  return batch > 0 ? to_step(std::round(values.number(IngestTarget::samples) / batch)) : -1;
}

void LogSession::take_step(const Rule& rule, const TargetValues& values, const TextPlace& where) {
  const bool counts_micro = !values.has(IngestTarget::step) && values.has(IngestTarget::micro_step);
  const auto counter = counts_micro ? IngestTarget::micro_step : IngestTarget::step;
  auto step = values.has(counter) ? to_step(values.number(counter)) : -1;
  if (step < 0 && !values.has(IngestTarget::samples)) return;
  auto& run = run_of_step(values);
  if (rule.weight < run.step_weight) return;
  if (step < 0) step = step_of_samples(values, run);
  if (step < 0) return;
  if (rule.weight > run.step_weight) {
    run.times.clear();
    run.watch.clear();
    run.numbered.clear();
    run.last_number = 0;
    run.counts_micro_batches = counts_micro;
    run.work = TimedWork::none;
    run.first_step = run.last_step = -1;
    run.step_weight = rule.weight;
    run.start_waits = true;
  }
  if (run.start_waits || run.resume_waits) run.step_label = where.label;
  const auto pace = pace_of(values);
  note_rank_pace(where, step, pace, run);
  if (tells_memory(values)) note_memory(values, where, run);
  if (run.step_label != where.label) return;  // only the steps of one rank are counted
  if (step <= run.last_step) {
    if (is_copy(run, step, shape_of(values, pace.seconds))) return;
    fall_back(rule, values, where, step);
  } else if (run.copying) {
    run.copying = run.resume_waits = false;  // the copied lines are over
  }
  note_step(rule, values, where, step, pace, *open_);
  sign_.pass_step();
}

void LogSession::fall_back(const Rule& rule, const TargetValues& values, const TextPlace& where,
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

void LogSession::settle_all(const TargetValues* first) {
  fold();
  auto starts = std::move(waiting_);
  waiting_.clear();
  for (std::size_t i = 0; i < starts.size(); ++i)
    settle(std::move(starts[i]), i + 1 == starts.size() ? first : nullptr);
}

bool LogSession::is_repeat(const LoggedRun& start, const TargetValues& first) const {
  if (!open_->has_steps() || tells_again(*open_, first)) return false;
  const auto step = first.has(IngestTarget::step) ? to_step(first.number(IngestTarget::step)) : -1;
  if (open_->finished && step <= open_->last_step) return true;
  return step < 0 ? begins_anew(start) : begins_anew(*open_, start.resumed_after, step);
}

void LogSession::settle(std::unique_ptr<LoggedRun> start, const TargetValues* first) {
  if (!open_ || !open_->says_anything()) {
    if (open_) start->jobs.merge(open_->jobs);
    open_ = std::move(start);
    return;
  }
  const bool same = !open_->settings.contradicts(start->settings);
  // A start after the end that did not fail is not a run: an evaluation, a second engine.
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
    open_->resume_waits = true;  // counted at that step, unless it is a copy
  else
    ++open_->restarts;
}

void LogSession::close(std::unique_ptr<LoggedRun> run) {
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

void LogSession::finish() {
  settle_all(nullptr);
  close(std::move(open_));
}

}  // namespace orch::ingest
