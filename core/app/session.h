#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
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
#include "core/show/tables/status.h"

namespace orch::app {

// The executors of this machine, for one call of the program.
class Session {
 public:
  Session();  // that tells nobody any news
  explicit Session(Console& console);
  follow::World world(const fs::path& experiment_folder);  // one experiment at a time
  launch::Slurm slurm() const { return slurm_; }
  void probe() { slurm_ = launch::probe_slurm(shell_); }  // again
  launch::SlurmExecutor* slurm_executor() { return slurm_executor_.get(); }
  Shell& shell() { return shell_; }
  Clock& clock() { return clock_; }
  RunLogs& logs() { return logs_; }
  // Where lines of news go: beside the answer, unless a live picture has the screen.
  std::function<void(const std::string&)> say;

 private:
  launch::ProcessShell shell_;
  SystemClock clock_;
  launch::Slurm slurm_;
  RunLogs logs_;
  std::unique_ptr<launch::SlurmExecutor> slurm_executor_;
  std::unique_ptr<launch::LocalExecutor> local_executor_;
};

// Runs of an experiment that were named; all of them when there are none.
struct Target {
  std::string experiment;
  std::set<std::string> runs;
};

// The places of a target's runs in a campaign.
std::vector<std::size_t> places(const follow::Campaign& campaign, const Target& target);

tables::Standings standings(const follow::Campaign& campaign, const Target& target);

// Of runs that ended: whether some failed.
Exit exit_of(const tables::Standings& standings);

// Experiments by name, file or folder, runs by id, beginning, hash or folder; no words: every
// experiment.
Result<std::vector<Target>> find_targets(const fs::path& root,
                                         const std::vector<std::string>& words);

// Tells what could not be read or written; whether there was anything.
bool tell_troubles(follow::Campaign& campaign, Console& console);

// "slurm" or "local": what the cluster's file says, auto decided by what is here.
std::string way_to_launch(const plan::Run& run, launch::Slurm slurm);

// Submits the runs of a plan whose folders are written, and follows them: checks them against the
// cluster and the budget, asks, submits. Says why where it stops before that. end is set to how the
// runs stand, once something was submitted.
Ending launch_runs(App& app, Session& session, const PlannedExperiment& planned,
                   const RunArguments& arguments, std::optional<tables::Standings>& end,
                   Console& console);

// Follows until all is done: a live picture on a terminal, lines elsewhere; then the table of what
// was measured. It ends as the runs of the target did.
Ending follow_and_report(Session& session, follow::Campaign& campaign, const Target& target,
                         const Common& common, bool carry_on, Console& console);

}  // namespace orch::app
