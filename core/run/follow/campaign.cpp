// Keeps the state of an experiment's runs. Three sources are read again and again, cheapest first:
// run folders (attempts, progress, stop files), the ledger of submissions, and the executors.
// refresh() polls the executors once for all open submissions and passes the facts about each run
// to record::judge(), which derives its state; a state that is final is written to state.json and
// the index, so that later calls need neither folder nor scheduler. An order of orch (cancel, hang)
// is recorded before it is carried out, and overrides what the scheduler reports afterwards. Files
// of other hosts and accounting can be late: an end without the script's own report stays open
// until `settle_seconds` have passed.
#include "core/run/follow/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/run/launch/slurm/serial_job.h"

namespace orch::follow {

using record::RunState;

Campaign::Campaign(const fs::path& root, const std::string& experiment, FollowEnvironment world,
                   FollowLimits options)
    : folder_(root / experiment),
      world_(std::move(world)),
      options_(options),
      index_(root),
      ledger_(folder_) {
  experiment_.name = experiment;
}

// --- reading ---

Status Campaign::open() {
  damaged_.clear();
  auto asked = store::read_experiment(folder_);
  if (asked && *asked) {
    experiment_ = std::move(**asked);
    experiment_.name = folder_.filename().string();  // the folder may have been renamed
  }
  if (!asked) damaged_ = asked.error();
  if (auto status = ledger_.read(damaged_); !status) return status;
  if (auto status = read_runs(); !status) return status;
  note_trouble(damaged_);
  return {};
}

void Campaign::note_trouble(const Errors& errors) {
  for (const auto& error : errors)
    if (told_.insert(error.text()).second) trouble_.push_back(error);
}

Status Campaign::read_runs() {
  const auto ids = store::run_ids(folder_);
  const auto owner = store::owner_of(folder_);
  const auto wanted = store::read_wanted(folder_);
  damaged_.add(wanted);
  std::map<std::string, store::StoreIndex::Row> known;
  for (auto rows = index_.rows(experiment_.name); !rows.empty(); rows.pop_front()) {
    auto id = rows.front().record.id;
    known.emplace(std::move(id), std::move(rows.front()));
  }
  std::vector<FollowedRun> runs;
  runs.reserve(ids.size());
  std::map<std::string, std::size_t> place;
  std::vector<std::string> stamps;  // one per run
  bool news = false;                // true if the index has to be rewritten
  for (const auto& id : ids) {
    if (!options_.trust)
      if (const auto status = store::check_ours(folder_ / id, owner); !status) {
        note_trouble(status.error());
        continue;
      }
    FollowedRun view;
    std::string stamp;
    const auto row = known.extract(id);
    // A run that has not ended may have been planned again since.
    if (!row.empty() && is_final(row.mapped().record.state)) {
      stamp = std::move(row.mapped().stamp);
      static_cast<record::LiveRun&>(view) = std::move(row.mapped());
    } else {
      stamp = store::stamp_of(folder_ / id);
      auto run = store::read_live_run(folder_ / id);
      if (!run) {
        note_trouble(run.error());
        continue;
      }
      static_cast<record::LiveRun&>(view) = std::move(*run);
    }
    view.wanted = wanted && wanted->contains(id);
    if (const auto before = find(id)) view.unheard_since = runs_[*before].unheard_since;
    read_run(view, folder_ / id);
    news = news || (view.settled && row.empty());
    place[id] = runs.size();
    runs.push_back(std::move(view));
    stamps.push_back(std::move(stamp));
  }
  runs_ = std::move(runs);
  place_ = std::move(place);
  unnoted_.clear();
  if (news) note_ended(stamps);
  return {};
}

// Adds them to the index; if it cannot be written, they are read again next time.
void Campaign::note_ended(const std::vector<std::string>& stamps) {
  std::vector<store::StoreIndex::Row> ended;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (runs_[i].settled) ended.push_back({runs_[i], stamps[i]});
  (void)index_.put(experiment_.name, ended);
}

void Campaign::damage(FollowedRun& view, const Errors& errors) {
  note_trouble(errors);
  const auto& first = errors.front();
  view.damage = fs::path(first.place).filename().string() + " " + first.fact;
}

// For a run that ended, the index has all that is needed, unless the run was submitted again.
void Campaign::read_run(FollowedRun& view, const fs::path& folder) {
  const auto& entries = ledger_.of(view.record.id);
  const auto last = entries.empty() ? "" : ledger_.at(entries.back()).submission.id;
  const auto ended = [&] { return is_final(view.record.state) && view.submission == last; };
  if (!ended()) {
    const auto status = store::read_state(folder, view);
    if (!status) damage(view, status.error());
    view.damage_stays = !status;
  }
  view.settled = ended();
  read_marks(view);
  if (!view.settled || record::is_transient(view.record.failure)) read_attempts(view);
}

void Campaign::read_marks(FollowedRun& view) {
  const auto folder = folder_ / view.record.id;
  std::error_code ignored;
  view.stop_file = fs::exists(folder / "stop", ignored) || fs::exists(folder_ / "stop", ignored);
  const auto checkpoints = fs::directory_iterator(folder / "checkpoints", ignored);
  view.has_checkpoint = !ignored && checkpoints != fs::directory_iterator();
}

std::optional<std::size_t> Campaign::find(const std::string& id) const {
  const auto found = place_.find(id);
  if (found == place_.end()) return std::nullopt;
  return found->second;
}

// Attempts whose end is recorded do not change any more. The current phase is the first one that no
// attempt has finished.
void Campaign::read_attempts(FollowedRun& view) {
  auto& attempts = view.attempts;
  if (!view.damage_stays) view.damage.clear();
  while (!attempts.empty() && attempts.back().state == "running") attempts.pop_back();
  const int from = attempts.empty() ? 1 : attempts.back().number + 1;
  auto more = store::read_attempts(folder_ / view.record.id, from);
  if (!more) {
    damage(view, more.error());
    return;
  }
  std::move(more->begin(), more->end(), std::back_inserter(attempts));
  const auto has_finished = [&](int phase) {
    return std::any_of(attempts.begin(), attempts.end(), [&](const auto& attempt) {
      return attempt.phase == phase && attempt.state == "finished";
    });
  };
  view.phase = 1;
  while (view.phase < view.phases && has_finished(view.phase)) ++view.phase;
}

double Campaign::file_system_now() {
  if (!now_) now_ = events::file_system_now(folder_);
  return *now_;
}

fs::path Campaign::attempt_folder(const FollowedRun& view, const record::Attempt& attempt) const {
  return folder_ / view.record.id / "attempts" / std::to_string(attempt.number);
}

// The progress of the last attempt; until its first step, that of an earlier attempt stays.
std::optional<record::TrainingProgress> Campaign::read_progress(FollowedRun& view) {
  if (view.attempts.empty()) return std::nullopt;
  const auto folder = attempt_folder(view, view.attempts.back());
  auto progress = events::read_progress(folder, file_system_now());
  if (!progress && world_.log_progress) progress = world_.log_progress(folder, file_system_now());
  if (progress) view.take(progress->measured);
  return progress;
}

// --- polling and judging ---

record::JobFacts Campaign::poll(bool& answered) {
  std::map<std::string, std::set<std::size_t>> asked;  // executor -> submissions
  for (const auto& view : runs_) {
    if (view.settled) continue;
    for (const auto& entry : ledger_.of(view.record.id))
      if (const auto& submission = ledger_.at(entry).submission;
          !submission.job.empty() && submission.phase >= view.phase)
        asked[submission.executor].insert(entry.submission);
  }
  record::JobFacts facts;
  answered = true;
  silent_.clear();
  for (const auto& [name, places] : asked) {
    std::vector<const record::Submission*> submissions;
    for (const auto place : places) submissions.push_back(&ledger_.all()[place].submission);
    auto* executor = world_.executor(name);
    auto got = executor ? executor->poll(submissions)
                        : Result<record::JobFacts>(Error{name, "not available here", ""});
    if (got) {
      for (const auto place : places)
        if (const auto& [submission, folder] = ledger_.all()[place]; submission.serial)
          launch::split_serial_job(submission, folder, world_.clock->now(), *got);
      answered_at_[name] = world_.clock->now();
      facts.merge(*got);
    } else {
      answered = false;
      silent_.insert(name);
    }
  }
  return facts;
}

// Includes submissions that another orch made meanwhile.
void Campaign::look_at_ledger() {
  if (!ledger_.has_changed()) return;
  Errors damaged;
  if (auto status = ledger_.read(damaged); !status) note_trouble(status.error());
  for (auto& view : runs_) {
    const auto& entries = ledger_.of(view.record.id);
    if (!entries.empty() && ledger_.at(entries.back()).submission.id != view.submission)
      view.settled = false;
  }
}

void Campaign::refresh() {
  now_.reset();
  look_at_ledger();
  bool answered = true;
  const auto facts = poll(answered);
  if (answered)
    silent_since_.reset();
  else if (!silent_since_)
    silent_since_ = world_.clock->steady();
  for (auto& view : runs_)
    if (!view.settled) judge(view, facts);
  if (auto status = note_states(); !status) note_trouble(status.error());
}

double Campaign::silent_seconds() const {
  auto last = answered_at_;
  for (const auto& opened : ledger_.all())
    if (const auto& submission = opened.submission; !submission.job.empty())
      last[submission.executor] = std::max(last[submission.executor], submission.time);
  double longest = 0;
  for (const auto& name : silent_) longest = std::max(longest, world_.clock->now() - last[name]);
  return longest;
}

void Campaign::settle_lost() {
  const auto waits = [](const FollowedRun& view) {
    return view.unheard_since >= 0 && !view.settled;
  };
  bool told = false;
  while (std::any_of(runs_.begin(), runs_.end(), waits) && !world_.interrupted()) {
    if (!told) world_.say("jobs unknown to the scheduler: waiting for their files");
    told = true;
    world_.clock->sleep(std::clamp(options_.settle_seconds / 4, 0.5, 5.0));
    refresh();
  }
}

Errors Campaign::take_troubles() { return std::exchange(trouble_, {}); }

const record::JobFact* Campaign::fact_of(const FollowedRun& view, int phase,
                                         const record::JobFacts& facts) const {
  const auto entry = ledger_.last(view.record.id, phase);
  if (!entry) return nullptr;
  const auto found = facts.find({ledger_.at(*entry).submission.id, entry->task});
  return found == facts.end() ? nullptr : &found->second;
}

// An order of orch overrides what SLURM and the job's script report about the end, whichever comes
// first: they know only that the job was cancelled, or what it died of then, and SLURM forgets a
// task that is cancelled before it starts.
record::StateVerdict Campaign::under_orders(const FollowedRun& view,
                                            record::StateVerdict verdict) const {
  const auto state = verdict.state;
  if (state != RunState::cancelled && state != RunState::stopped && state != RunState::failed)
    return verdict;
  if (view.cancel_asked) {
    if (state == RunState::failed && verdict.failure != record::Failure::lost &&
        verdict.failure != record::Failure::hang)
      return verdict;
    return {RunState::cancelled, record::Failure::none, "orch cancel"};
  }
  const auto entry = ledger_.last(view.record.id, view.phase);
  if (view.cancelled_hang && entry &&
      view.cancelled_hang->submission == ledger_.at(*entry).submission.id)
    return {RunState::failed, record::Failure::hang, view.cancelled_hang->reason + "; cancelled",
            verdict.heard};
  return verdict;
}

void Campaign::judge(FollowedRun& view, const record::JobFacts& facts) {
  const auto* fact = fact_of(view, view.phase, facts);
  // Thousands of runs may be waiting: while a job waits, its folder does not change and is not
  // read.
  const bool still_waits = view.judged && view.job && fact && view.job->state == "PENDING" &&
                           fact->state == "PENDING" && view.job->job == fact->job;
  const bool never_submitted = view.judged && ledger_.of(view.record.id).empty();
  if (!still_waits && !never_submitted) read_attempts(view);
  view.judged = true;

  auto verdict = under_orders(view, judge_phase(view, view.phase, facts));
  // A queued run needs no files to be judged; an ended one does.
  if (!view.damage.empty() && verdict.state != RunState::pending &&
      verdict.state != RunState::running)
    verdict = {RunState::failed, record::Failure::none, view.damage};
  const bool hung = view.cancelled_hang || view.record.failure == record::Failure::hang;
  view.take(verdict);
  if (hung && verdict.state == RunState::running && verdict.failure == record::Failure::none)
    note_recovery(view);
  if (verdict.state == RunState::finished || verdict.state == RunState::stopped)
    read_progress(view);
  view.elapsed_seconds = elapsed(view, world_.clock->now());
  view.record.measured.gpu_hours = follow::gpu_hours_used(view, world_.clock->now());
  settle(view);
}

namespace {

// A site's own template may omit the submission's id: then times decide, with a tolerance because
// clocks of hosts differ.
bool belongs(const record::Attempt& attempt, const record::Submission& submission) {
  if (!attempt.submission.empty()) return attempt.submission == submission.id;
  return attempt.start == 0 || attempt.start + 600 > submission.time;
}

}  // namespace

record::StateVerdict Campaign::judge_phase(FollowedRun& view, int phase,
                                           const record::JobFacts& facts) {
  record::Evidence evidence;
  const auto entry = ledger_.last(view.record.id, phase);
  const auto* fact = fact_of(view, phase, facts);
  if (fact)
    view.job = *fact;
  else if (!entry || silent_.empty())
    view.job.reset();
  if (entry && ledger_.at(*entry).submission.job.empty() &&
      ledger_.at(*entry).submission.refused.empty())
    return {RunState::pending, record::Failure::none,
            "it may have been submitted: orch resume finds out"};
  if (entry) {
    evidence.submission = &ledger_.at(*entry).submission;
    evidence.executor_answered =
        !silent_.contains(evidence.submission->executor) && !evidence.submission->job.empty();
  }
  evidence.job = fact;
  for (const auto& attempt : view.attempts)
    if (attempt.phase == phase &&
        (!entry || attempt.state == "finished" || belongs(attempt, *evidence.submission)))
      evidence.attempts.push_back(&attempt);
  evidence.steps = view.record.measured.steps_planned;
  evidence.step_seconds = view.estimated_step();
  evidence.hang_seconds = options_.hang_seconds;
  if (!evidence.attempts.empty()) {
    const auto& last = *evidence.attempts.back();
    if (last.state == "running" || last.state == "left") evidence.progress = read_progress(view);
    if ((last.state == "failed" || last.state == "left") && world_.confession)
      evidence.confession = [this, folder = attempt_folder(view, last)] {
        return world_.confession(folder);
      };
  }
  return record::judge(evidence);
}

// An end that the script has not reported may only be delayed: files of other hosts become visible
// late.
bool Campaign::is_certain(FollowedRun& view) {
  if (view.heard) return true;
  if (view.unheard_since < 0) view.unheard_since = world_.clock->steady();
  const bool long_ago =
      view.job && view.job->end > 0 &&
      world_.clock->now() - view.job->end > std::max(600.0, 10 * options_.settle_seconds);
  return long_ago || world_.clock->steady() - view.unheard_since >= options_.settle_seconds;
}

void Campaign::settle(FollowedRun& view) {
  const bool ended = is_final(view.record.state) || !view.heard;
  if (!ended || !view.damage.empty()) {
    view.unheard_since = -1;
    return;
  }
  merge_orders(view);
  if (!is_certain(view)) return;
  read_progress(view);
  read_marks(view);
  if (const auto& entries = ledger_.of(view.record.id); !entries.empty())
    view.submission = ledger_.at(entries.back()).submission.id;
  for (const auto& attempt : view.attempts)
    view.record.origin.end = std::max({view.record.origin.end, attempt.end, attempt.seen});
  view.settled = true;
  unnoted_.insert(place_.at(view.record.id));
}

// Another orch may have cancelled the run, or reset its tries, since we read the folder.
void Campaign::merge_orders(FollowedRun& view) {
  record::LiveRun noted;
  if (!store::read_state(folder_ / view.record.id, noted)) return;
  const bool newer = noted.retries_from >= view.retries_from;
  view.retries_from = std::max(view.retries_from, noted.retries_from);
  view.cancel_asked = view.cancel_asked || (noted.cancel_asked && newer);
  if (noted.cancelled_hang) view.cancelled_hang = noted.cancelled_hang;
  const auto& now = view.record;
  view.take(under_orders(view, {now.state, now.failure, now.reason, view.heard}));
}

// If a run that hung makes progress again, its later end is no longer attributed to the hang.
void Campaign::note_recovery(FollowedRun& view) {
  const bool runs = view.job && view.job->state == "RUNNING" && !view.attempts.empty() &&
                    view.attempts.back().state == "running";
  merge_orders(view);
  if (!runs || !view.cancelled_hang || view.cancelled_hang->step == view.record.measured.steps)
    return;
  view.cancelled_hang.reset();
  unnoted_.insert(place_.at(view.record.id));
}

// All states at once, so that the disk is waited for only once.
Status Campaign::note_states() {
  std::vector<const record::LiveRun*> changed;
  for (const auto place : unnoted_) changed.push_back(&runs_[place]);
  if (auto status = store::write_states(folder_, changed); !status)
    return status;  // tried again with the next look
  unnoted_.clear();
  return {};
}

void Campaign::submitted(std::size_t run) {
  auto& view = runs_[run];
  view.settled = view.judged = false;
  view.unheard_since = -1;
  view.job.reset();
  view.attempts.clear();
  view.take(record::StateVerdict{RunState::pending, record::Failure::none, ""});
}

// --- sums ---

bool Campaign::would_be_due(std::size_t run) const {
  auto view = runs_[run];
  view.stop_file = false;
  return damaged_.empty() && follow::is_due(view, ledger_, options_);
}

std::vector<std::size_t> Campaign::due() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (is_due(i) && !set_aside_.contains(runs_[i].record.id)) out.push_back(i);
  return out;
}

double Campaign::gpu_hours_used() const {
  double hours = 0;
  for (const auto& view : runs_) hours += view.gpu_hours();
  return hours;
}

// Without a checkpoint the run begins anew.
double Campaign::gpu_hours_left(std::size_t run) const {
  const auto& view = runs_[run];
  const bool anew = !is_open(view) && !view.has_checkpoint;
  const double whole = view.estimated_hours();
  return anew ? whole : std::max(0.0, whole - view.gpu_hours());
}

Status Campaign::check_budget(const std::vector<std::size_t>& more) const {
  if (options_.over_budget) return {};
  for (const auto& each : plan::kExpenseLimits)
    if (auto status = check_limit(each, more); !status) return status;
  return {};
}

// What a run takes of this for a GPU-hour, by its estimate.
double Campaign::rate(std::size_t run, const plan::ExpenseLimit& of) const {
  const auto& estimated = runs_[run].record.estimated;
  const auto expense = estimated ? estimated->expense() : plan::Expense{};
  if (of.amount == &plan::Expense::gpu_hours) return 1;
  return expense.gpu_hours > 0 ? expense.*of.amount / expense.gpu_hours : 0;
}

Status Campaign::check_limit(const plan::ExpenseLimit& of,
                             const std::vector<std::size_t>& more) const {
  const double budget = experiment_.budget.*of.limit;
  if (budget <= 0) return {};
  const auto left = [&](std::size_t run) { return rate(run, of) * gpu_hours_left(run); };
  // Runs that are due are committed already; others are added.
  double spent = 0, asked = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    spent += rate(run, of) * runs_[run].gpu_hours();
    if (is_open(runs_[run]) || is_due(run)) spent += left(run);
  }
  for (const auto run : more) {
    asked += left(run);
    if (is_due(run)) spent -= left(run);
  }
  if (spent + asked <= budget) return {};
  std::size_t possible = 0;
  double sum = spent;
  for (const auto run : more)
    if (sum += left(run); sum <= budget) ++possible;
  std::string fix = "--over-budget submits them all the same";
  if (possible > 0) fix = fmt::format("orch run --take {} keeps it; ", possible) + fix;
  return Error{experiment_.name + ": budget",
               fmt::format("{} run{} would take {:.3g} {} and {:.3g} are used or committed, of "
                           "{:.6g}",
                           more.size(), more.size() == 1 ? "" : "s", asked, of.unit, spent, budget),
               fix};
}

void Campaign::look_at_progress() {
  now_.reset();
  for (auto& view : runs_)
    if (view.record.state == RunState::running) read_progress(view);
}

double Campaign::gpu_hours_committed() const {
  double hours = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (is_open(runs_[i]) || is_due(i)) hours += gpu_hours_left(i);
  return hours;
}

}  // namespace orch::follow
