#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/app/commands.h"
#include "core/app/run_logs.h"
#include "core/base/clock.h"
#include "core/run/follow/campaign.h"
#include "core/run/follow/follow.h"
#include "core/run/launch/local/local_executor.h"
#include "core/run/launch/process_shell.h"
#include "core/run/launch/slurm/slurm_client.h"
#include "core/run/launch/slurm/slurm_executor.h"
#include "core/run/store/store.h"
#include "core/show/tables/status.h"

namespace orch::app {

// The executors of this machine, for one call of the program.
class AppSession {
 public:
  AppSession();  // without output of news
  explicit AppSession(Console& console);
  follow::FollowEnvironment world(const fs::path& experiment_folder);  // one experiment at a time
  launch::SlurmAnswer slurm() const { return slurm_; }
  void probe() { slurm_ = launch::probe_slurm(shell_); }  // repeats the probe
  launch::SlurmExecutor* slurm_executor() { return slurm_executor_.get(); }
  Shell& shell() { return shell_; }
  Clock& clock() { return clock_; }
  RunLogs& logs() { return logs_; }
  // Prints a line of news: to stderr, or above a live picture.
  std::function<void(const std::string&)> say;

 private:
  launch::ProcessShell shell_;
  SystemClock clock_;
  launch::SlurmAnswer slurm_;
  RunLogs logs_;
  std::unique_ptr<launch::SlurmExecutor> slurm_executor_;
  std::unique_ptr<launch::LocalExecutor> local_executor_;
};

// The named runs of an experiment; all of them if none is named.
struct SessionTarget {
  std::string experiment;
  std::set<std::string> runs;
};

// The indices of a target's runs in a campaign.
std::vector<std::size_t> places(const follow::Campaign& campaign, const SessionTarget& target);

tables::Standings standings(const follow::Campaign& campaign, const SessionTarget& target);

// The exit code for ended runs: an error if some failed.
Exit exit_of(const tables::Standings& standings);

// Experiments by name, file or folder, runs by id, prefix, hash or folder; no arguments: every
// experiment.
Result<std::vector<SessionTarget>> find_targets(const fs::path& root,
                                                const std::vector<std::string>& words);

// Prints what could not be read or written; true if there was anything.
bool tell_troubles(follow::Campaign& campaign, Console& console);

// "slurm" or "local": the cluster's setting, where auto depends on this machine.
std::string way_to_launch(const plan::Run& run, launch::SlurmAnswer slurm);

// A warning only: another program may train it.
bool is_untrained(const plan::Run& run);

// Writes the folders of a plan's runs; says how many, or how the verb ends.
std::variant<store::WriteCounts, Ending> write_folders(App& app, AppSession& session,
                                                       const PlannedExperiment& planned,
                                                       const RunArguments& arguments,
                                                       Console& console);

// Submits the runs of a plan whose folders are written, and follows them: checks them against the
// cluster and the budget, asks, submits. Prints the reason if it stops before that. After a
// submission, end is set to the state of the runs.
Ending launch_runs(App& app, AppSession& session, const PlannedExperiment& planned,
                   const RunArguments& arguments, std::optional<tables::Standings>& end,
                   Console& console);

// Follows until all runs have ended: a live picture on a terminal, else lines; then prints the
// table of measurements. Its exit code is that of the target's runs.
Ending follow_and_report(AppSession& session, follow::Campaign& campaign,
                         const SessionTarget& target, const CommonArguments& common, bool carry_on,
                         Console& console);

}  // namespace orch::app
