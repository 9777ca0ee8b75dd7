#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/run/follow/backoff.h"
#include "core/run/follow/campaign.h"
#include "core/run/launch/slurm/serial_job.h"

namespace orch::follow {

using record::RunState;

Result<bool> Campaign::begin(FileLock::Wait wait) {
  if (!options_.trust)
    if (auto status = store::check_owner(folder_); !status) return status.error();
  auto lock = FileLock::take(folder_ / "lock", FileLock::Wait::no);
  if (lock && !lock->held() && lock->supported() && wait == FileLock::Wait::yes) {
    world_.say("another orch (or its sbatch) is working on this experiment: waiting for it");
    lock = FileLock::take(folder_ / "lock", wait);
  }
  if (!lock) return lock.error();
  if (!lock->held() && lock->supported()) return false;
  if (!lock->supported() && !lock_)
    world_.say(
        "this file system does not support locks: run only one orch at a time on this experiment");
  lock_ = std::move(*lock);
  if (auto status = look_again(); !status) {
    lock_.reset();
    return status.error();
  }
  return true;
}

Status Campaign::look_again() {
  if (auto status = open(); !status) return status;
  if (!damaged_.empty()) return damaged_;
  if (auto status = resolve_unanswered(); !status) return status;
  refresh();
  return {};
}

// Under the lock no sbatch of ours is still running: a submission that SLURM does not know was
// never received.
Status Campaign::resolve_unanswered() {
  for (const auto submission : ledger_.unanswered())
    if (auto status = resolve(submission); !status) return status;
  return {};
}

Status Campaign::resolve(std::size_t place) {
  const auto submission = ledger_.all()[place].submission;
  const auto told = job_by_attempts(submission);
  // Tasks of an array know only their own id, not the array's; the scheduler knows both, unless it
  // forgot the job.
  if (told && !submission.array) return ledger_.note_job(place, *told);
  auto* executor = world_.executor(submission.executor);
  if (!executor)
    return Error{submission.executor,
                 fmt::format("cannot find out what became of {}", submission.id),
                 "run orch where it was submitted from"};
  Backoff backoff(*world_.clock, options_.patience_seconds);
  while (true) {
    const auto job = executor->find(submission);
    if (job && *job) {
      world_.say(fmt::format("found job {} of an interrupted submission ({} runs)", **job,
                             submission.runs.size()));
      return ledger_.note_job(place, **job);
    }
    if (job) break;
    if (world_.interrupted() || !backoff.wait(world_)) return job.error();
  }
  if (told) return ledger_.note_job(place, *told);
  ledger_.drop(place);
  return {};
}

// A job that ran wrote its id to the run folder; SLURM may have forgotten the job.
std::optional<std::string> Campaign::job_by_attempts(const record::Submission& submission) const {
  for (const auto& run : submission.runs) {
    const auto place = find(run);
    if (!place) continue;
    for (const auto& attempt : runs_[*place].attempts)
      if (attempt.submission == submission.id && !attempt.job.empty()) return attempt.job;
  }
  return std::nullopt;
}

launch::Executor* Campaign::executor_of(const FollowedRun& view) const {
  return view.phases > 0 ? world_.slurm : world_.local;
}

Status Campaign::want(const std::vector<std::size_t>& which) {
  std::vector<std::string> ids;
  for (const auto run : which) {
    ids.push_back(runs_[run].record.id);
    runs_[run].wanted = true;
  }
  return store::add_wanted(folder_, ids);
}

// The order is recorded before it is given: a resume after a crash does not restart these runs.
Status Campaign::cancel(const std::vector<std::size_t>& which) {
  std::vector<Ledger::Entry> entries;
  for (const auto run : which) {
    auto& view = runs_[run];
    if (view.record.state == RunState::finished) continue;
    view.cancel_asked = true;
    if (ledger_.of(view.record.id).empty()) {
      view.take(record::StateVerdict{RunState::cancelled, record::Failure::none, "orch cancel"});
      view.settled = true;
    }
    unnoted_.insert(run);
    for (const auto& entry : ledger_.of(view.record.id)) {
      const auto& submission = ledger_.at(entry).submission;
      if (!submission.job.empty() && submission.phase >= view.phase) entries.push_back(entry);
    }
  }
  if (auto status = note_states(); !status) return status;
  return cancel_jobs(entries);
}

Status Campaign::cancel_hung(const std::vector<std::size_t>& which) {
  std::vector<Ledger::Entry> entries;
  for (const auto run : which) {
    auto& view = runs_[run];
    const auto entry = ledger_.last(view.record.id, view.phase);
    if (!entry) continue;
    merge_orders(view);  // we may not hold the lock: keep what others recorded
    view.cancelled_hang = {ledger_.at(*entry).submission.id, view.record.reason,
                           view.record.measured.steps};
    unnoted_.insert(run);
    entries.push_back(*entry);
  }
  if (auto status = note_states(); !status) return status;
  return cancel_jobs(entries);
}

// Cancels only jobs that the executor itself reports as ours: it may have reused the id of a job
// that it forgot.
Status Campaign::cancel_jobs(const std::vector<Ledger::Entry>& entries) {
  std::map<std::string, std::set<std::size_t>> asked;  // executor -> submissions
  for (const auto& entry : entries)
    asked[ledger_.at(entry).submission.executor].insert(entry.submission);
  for (const auto& [name, places] : asked) {
    auto* executor = world_.executor(name);
    if (!executor) return Error{name, "not available here", "cancel where it was submitted from"};
    std::vector<const record::Submission*> submissions;
    for (const auto place : places) submissions.push_back(&ledger_.all()[place].submission);
    const auto facts = executor->poll(submissions);
    if (!facts) return facts.error();
    std::vector<record::JobFact> tasks;
    for (const auto& entry : entries) {
      const auto& [submission, folder] = ledger_.at(entry);
      if (!places.contains(entry.submission)) continue;
      if (submission.serial)
        if (auto status = launch::cancel_serial_run(folder, entry.task); !status) return status;
      const bool whole = !submission.serial || launch::is_all_cancelled(submission, folder);
      const auto fact = facts->find({submission.id, submission.serial ? 0 : entry.task});
      if (whole && fact != facts->end()) tasks.push_back(fact->second);
    }
    if (auto status = executor->cancel(tasks); !status) return status;
  }
  return {};
}

Status Campaign::ask_to_stop(const std::vector<std::size_t>& which) {
  for (const auto run : which) {
    if (auto status = write_file_atomically(folder_ / runs_[run].record.id / "stop", ""); !status)
      return status;
    runs_[run].stop_file = true;
  }
  return {};
}

Status Campaign::forget_failures(const std::vector<std::size_t>& which) {
  for (const auto run : which) {
    auto& view = runs_[run];
    if (view.record.state == RunState::finished) continue;
    read_attempts(view);
    const auto tries = static_cast<int>(ledger_.of(view.record.id).size());
    view.forget();
    view.retries_from = tries;
    view.settled = false;
    unnoted_.insert(run);
  }
  if (auto status = note_states(); !status) return status;
  return want(which);
}

void Campaign::clear_stop_files(const std::vector<std::size_t>& which) {
  std::error_code ignored;
  if (which.size() == runs_.size()) fs::remove(folder_ / "stop", ignored);
  for (const auto run : which) {
    fs::remove(folder_ / runs_[run].record.id / "stop", ignored);
    runs_[run].stop_file = false;
  }
}

}  // namespace orch::follow
