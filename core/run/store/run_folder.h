#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/record/facts.h"
#include "core/record/live_run.h"

namespace orch {
class Fields;
}

namespace orch::store {

// Reads what a run folder holds. None of them trusts a file: a damaged one is an error that names
// it, one that is missing is nothing.

// As it was planned, from run.json, estimate.json and the scripts beside them. Without a run.json
// there is no run: that is an error too. Without an estimate.json nothing is estimated.
Result<record::LiveRun> read_live_run(const fs::path& run_folder);

// What became of it, from state.json: without one, nothing yet.
Status read_state(const fs::path& run_folder, record::LiveRun& run);

// The same as text and as fields, for a line of the index too; problems are the fields'.
std::string state_json(const record::LiveRun& run);
void parse_state(Fields& fields, record::LiveRun& run);

// state.json of many runs of an experiment at once: the disk is waited for once instead of for
// each. After an error some are written.
Status write_states(const fs::path& experiment_folder,
                    const std::vector<const record::LiveRun*>& runs);

// attempts/<n>/status.json in the order of their numbers; an attempt that has none yet is "running"
// with nothing else known. From: only those with a number of at least this.
Result<std::vector<record::Attempt>> read_attempts(const fs::path& run_folder, int from = 1);

// runs/<experiment>/experiment.json: what a follower must know of the experiment without its file,
// which are its name, file, budget and what it expects.
Result<std::optional<plan::Experiment>> read_experiment(const fs::path& experiment_folder);
Status write_experiment(const fs::path& experiment_folder, const plan::Experiment& experiment);

// runs/<experiment>/<id>/provenance.json: where a run is from, as its folder was written.
struct Provenance {
  std::string orch;             // its version
  std::string experiment_file;  // as it was given
  std::string cluster_file;
  std::string commit;    // of the repository that holds the experiment's file; empty: none
  bool changed = false;  // the file, or one that it includes, differs from that commit's
  std::vector<std::string> includes;  // files that it includes, from its folder
  std::vector<std::string> set;       // what the command line changed in it
};
Status read_provenance(const fs::path& run_folder, record::Origin& into);
std::string provenance_json(const Provenance& provenance);

// runs/<experiment>/wanted: the runs that someone asked to be submitted, one id per line, so that a
// resume after a crash submits those and no others. add_wanted keeps what is there; call it under
// the experiment's lock.
Result<std::set<std::string>> read_wanted(const fs::path& experiment_folder);
Status add_wanted(const fs::path& experiment_folder, const std::vector<std::string>& ids);

// Run folders of an experiment (entries with a run.json), by id, sorted.
std::vector<std::string> run_ids(const fs::path& experiment_folder);
// Experiments below a root: folders with at least one run or a submissions folder, sorted.
std::vector<std::string> experiments(const fs::path& root);

// Error if a file or folder belongs to another user. Root is no exception: it neither runs what
// others can change nor leaves its own files with them. A missing one is no error. `or_of`: another
// owner that is accepted, such as that of the experiment when its runs are only looked at.
Status check_ours(const fs::path& path, std::optional<unsigned> or_of = std::nullopt);
std::optional<unsigned> owner_of(const fs::path& path);  // uid; none: it cannot be told
// The same for a folder; also an error if we may not write in it.
Status check_owner(const fs::path& folder);

}  // namespace orch::store
