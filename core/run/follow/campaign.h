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

// The runs of one experiment on their way: what is in their folders, what the executors say of
// them, and what that comes to. Whatever submits or cancels happens under the experiment's lock,
// which a called sbatch holds too, so that two orch never submit the same run.
class Campaign {
 public:
  Campaign(const fs::path& root, const std::string& experiment, World world, Options options);

  // Reads runs, submissions and what was asked for. A run without a sound run.json is left out;
  // that and every other damaged file is told by take_troubles(). As long as one of the
  // experiment's own is damaged, nothing is due and begin() is refused: who knows what was
  // submitted.
  Status open();

  // What could not be read or written since the last call, each but once; everything else went on.
  Errors take_troubles();
  void note_trouble(const Errors& errors);
  // Not to be submitted any more by this orch: it would be refused again.
  void set_aside(const std::string& run) { set_aside_.insert(run); }

  const fs::path& folder() const { return folder_; }
  const plan::Experiment& experiment() const { return experiment_; }
  const std::vector<RunView>& runs() const { return runs_; }
  std::optional<std::size_t> find(const std::string& id) const;
  const Ledger& ledger() const { return ledger_; }
  const std::string& index_trouble() const { return index_.why(); }

  // Asks the executors once about everything that is not settled, judges, and notes what ended.
  // silent_since() tells of an executor that does not answer.
  void refresh();
  // Looks until every job without a trace is certain to be lost, or is not.
  void settle_lost();
  std::optional<double> silent_since() const { return silent_since_; }  // steady clock
  // How long ago the executors that did not answer just now answered last, as far as is known:
  // here, or to a submission. The longest of them; 0: all answered.
  double silent_seconds() const;

  bool is_due(std::size_t run) const {
    return damaged_.empty() && follow::is_due(runs_[run], ledger_, options_);
  }
  bool would_be_due(std::size_t run) const;  // without its stop file
  std::vector<std::size_t> due() const;
  double gpu_hours_used() const;
  double gpu_hours_left(std::size_t run) const;  // by its estimate
  // An error if these runs, with what is used and on its way, would go over the budget.
  Status check_budget(const std::vector<std::size_t>& more) const;
  void look_at_progress();  // of running runs, without asking the executors
  // What runs that were asked for and have not ended will still take, by their estimates.
  double gpu_hours_committed() const;

  // --- under the lock ---

  // Takes the lock, looks again at what others did meanwhile, and finds out what became of
  // submissions without an answer. False: another orch has the lock.
  Result<bool> begin(FileLock::Wait wait);
  void end() { lock_.reset(); }
  int lock_descriptor() const { return lock_ ? lock_->descriptor() : -1; }
  Ledger& ledger() { return ledger_; }
  const World& world() const { return world_; }
  const Options& options() const { return options_; }
  launch::Executor* executor_of(const RunView& view) const;

  std::size_t room = 0;  // tasks that an array could have when the last one was too large; 0: any

  void submitted(std::size_t run);  // just now: what was judged before does not count

  Status want(const std::vector<std::size_t>& which);
  Status cancel(const std::vector<std::size_t>& which);
  // Ends these because they hang, and notes that first: they will be due again.
  Status cancel_hung(const std::vector<std::size_t>& which);
  Status cancel_jobs(const std::vector<Ledger::Entry>& entries);
  // Stop files: each ends after its next checkpoint; what has not begun does not begin.
  Status ask_to_stop(const std::vector<std::size_t>& which);
  // Makes these due again, whatever they failed of.
  Status forget_failures(const std::vector<std::size_t>& which);
  void clear_stop_files(const std::vector<std::size_t>& which);

 private:
  Status read_runs();
  void note_ended(const std::vector<std::string>& stamps);
  void read_run(RunView& view, const fs::path& folder);
  void damage(RunView& view, const Errors& errors);
  Status look_again();
  Status resolve_unanswered();
  Status resolve(std::size_t submission);
  std::optional<std::string> job_by_attempts(const record::Submission& submission) const;

  record::JobFacts poll(bool& answered);
  const record::JobFact* fact_of(const RunView& view, int phase,
                                 const record::JobFacts& facts) const;
  void judge(RunView& view, const record::JobFacts& facts);
  record::Verdict under_orders(const RunView& view, record::Verdict verdict) const;
  record::Verdict judge_phase(RunView& view, int phase, const record::JobFacts& facts);
  void read_attempts(RunView& view);
  std::optional<record::Progress> read_progress(RunView& view);
  fs::path attempt_folder(const RunView& view, const record::Attempt& attempt) const;
  void settle(RunView& view);
  bool is_certain(RunView& view);
  void merge_orders(RunView& view);
  void note_recovery(RunView& view);
  void read_marks(RunView& view);
  void look_at_ledger();
  Status note_states();  // state.json of the runs in unnoted_
  double file_system_now();

  fs::path folder_;
  World world_;
  Options options_;
  plan::Experiment experiment_;
  store::Index index_;
  Ledger ledger_;
  std::vector<RunView> runs_;
  std::map<std::string, std::size_t> place_;  // by id
  std::set<std::size_t> unnoted_;             // places of runs whose state changed
  std::set<std::string> silent_;              // executors that did not answer the last poll
  std::optional<FileLock> lock_;
  std::optional<double> silent_since_;
  std::map<std::string, double> answered_at_;  // by executor, seconds since 1970
  std::optional<double> now_;                  // of the file system, during a refresh
  Errors damaged_;                             // files of the experiment as a whole
  Errors trouble_;                             // not yet taken
  std::set<std::string> told_;                 // troubles, each but once
  std::set<std::string> set_aside_;            // runs
};

}  // namespace orch::follow
