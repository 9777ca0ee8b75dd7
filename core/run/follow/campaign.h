#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/lock.h"
#include "core/run/follow/ledger.h"
#include "core/run/follow/options.h"
#include "core/run/follow/run_view.h"
#include "core/run/store/index.h"
#include "core/run/store/run_folder.h"

namespace orch::follow {

// The runs of one experiment and their jobs: the content of their folders, the executors' reports,
// and the resulting states. All functions that submit or cancel run under the experiment's lock,
// which a running sbatch inherits, so that two orch processes never submit the same run.
class Campaign {
 public:
  Campaign(const fs::path& root, const std::string& experiment, FollowEnvironment world,
           FollowLimits options);

  // Reads runs, submissions and the list of wanted runs. A run without a valid run.json is left
  // out; take_troubles() returns that and every other damaged file. While one of the experiment's
  // own files is damaged, nothing is due and begin() is refused, because it is unknown what was
  // submitted.
  Status open();

  // The files that could not be read or written since the last call, each only once; everything
  // else continued.
  Errors take_troubles();
  void note_trouble(const Errors& errors);
  // This orch does not submit the run again: it would be refused again.
  void set_aside(const std::string& run) { set_aside_.insert(run); }

  const fs::path& folder() const { return folder_; }
  const plan::Experiment& experiment() const { return experiment_; }
  const std::vector<FollowedRun>& runs() const { return runs_; }
  std::optional<std::size_t> find(const std::string& id) const;
  const Ledger& ledger() const { return ledger_; }
  const std::string& index_trouble() const { return index_.why(); }

  // Asks the executors once about everything that is not settled, judges the runs, and records the
  // ended ones. silent_since() is set if an executor does not answer.
  void refresh();
  // Repeats refresh() until every job without a trace is either found or certain to be lost.
  void settle_lost();
  std::optional<double> silent_since() const { return silent_since_; }  // steady clock
  // The time since the silent executors last answered, here or to a submission, as far as is known:
  // the longest of them; 0: all answered.
  double silent_seconds() const;

  bool is_due(std::size_t run) const {
    return damaged_.empty() && follow::is_due(runs_[run], ledger_, options_);
  }
  bool would_be_due(std::size_t run) const;  // without its stop file
  std::vector<std::size_t> due() const;
  double gpu_hours_used() const;
  double gpu_hours_left(std::size_t run) const;  // by its estimate
  // An error if these runs, together with those used and committed, would exceed the budget.
  Status check_budget(const std::vector<std::size_t>& more) const;
  void look_at_progress();  // of running runs, without asking the executors
  // What wanted runs that have not ended will still take, by their estimates.
  double gpu_hours_committed() const;

  // --- under the lock ---

  // Takes the lock, reads what others did meanwhile, and finds out which unanswered submissions
  // were accepted. False: another orch holds the lock.
  Result<bool> begin(FileLock::Wait wait);
  void end() { lock_.reset(); }
  int lock_descriptor() const { return lock_ ? lock_->descriptor() : -1; }
  Ledger& ledger() { return ledger_; }
  const FollowEnvironment& world() const { return world_; }
  const FollowLimits& options() const { return options_; }
  launch::Executor* executor_of(const FollowedRun& view) const;

  std::size_t room = 0;  // largest array to try after one did not fit; 0: any

  void submitted(std::size_t run);  // just now: discards the earlier verdict

  Status want(const std::vector<std::size_t>& which);
  Status cancel(const std::vector<std::size_t>& which);
  // Cancels hanging runs, and records that first: they will be due again.
  Status cancel_hung(const std::vector<std::size_t>& which);
  Status cancel_jobs(const std::vector<Ledger::Entry>& entries);
  // Writes stop files: each run ends after its next checkpoint; one that has not begun does not
  // begin.
  Status ask_to_stop(const std::vector<std::size_t>& which);
  // Makes these runs due again, whatever the reason of their failure.
  Status forget_failures(const std::vector<std::size_t>& which);
  void clear_stop_files(const std::vector<std::size_t>& which);

 private:
  double rate(std::size_t run, const plan::ExpenseLimit& of) const;
  Status check_limit(const plan::ExpenseLimit& of, const std::vector<std::size_t>& more) const;
  Status read_runs();
  void note_ended(const std::vector<std::string>& stamps);
  void read_run(FollowedRun& view, const fs::path& folder);
  void damage(FollowedRun& view, const Errors& errors);
  Status look_again();
  Status resolve_unanswered();
  Status resolve(std::size_t submission);
  std::optional<std::string> job_by_attempts(const record::Submission& submission) const;

  record::JobFacts poll(bool& answered);
  const record::JobFact* fact_of(const FollowedRun& view, int phase,
                                 const record::JobFacts& facts) const;
  void judge(FollowedRun& view, const record::JobFacts& facts);
  record::StateVerdict under_orders(const FollowedRun& view, record::StateVerdict verdict) const;
  record::StateVerdict judge_phase(FollowedRun& view, int phase, const record::JobFacts& facts);
  void read_attempts(FollowedRun& view);
  std::optional<record::TrainingProgress> read_progress(FollowedRun& view);
  fs::path attempt_folder(const FollowedRun& view, const record::Attempt& attempt) const;
  void settle(FollowedRun& view);
  bool is_certain(FollowedRun& view);
  void merge_orders(FollowedRun& view);
  void note_recovery(FollowedRun& view);
  void read_marks(FollowedRun& view);
  void look_at_ledger();
  Status note_states();  // writes state.json of the runs in unnoted_
  double file_system_now();

  fs::path folder_;
  FollowEnvironment world_;
  FollowLimits options_;
  plan::Experiment experiment_;
  store::StoreIndex index_;
  Ledger ledger_;
  std::vector<FollowedRun> runs_;
  std::map<std::string, std::size_t> place_;  // index of a run by id
  std::set<std::size_t> unnoted_;             // runs whose changed state is not written yet
  std::set<std::string> silent_;              // executors that did not answer the last poll
  std::optional<FileLock> lock_;
  std::optional<double> silent_since_;
  std::map<std::string, double> answered_at_;  // by executor, seconds since 1970
  std::optional<double> now_;                  // the file system's time, during a refresh
  Errors damaged_;                             // damaged files of the experiment itself
  Errors trouble_;                             // not returned yet
  std::set<std::string> told_;                 // all troubles ever reported, to avoid repetition
  std::set<std::string> set_aside_;            // runs that are not submitted again
};

}  // namespace orch::follow
