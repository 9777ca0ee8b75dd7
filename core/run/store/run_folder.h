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
class JsonFields;
}

namespace orch::store {

// Functions that read a run folder. None of them trusts a file: a damaged one is an error that
// names it, a missing one gives nothing.

// The run as planned, from run.json, estimate.json and the scripts beside them. A missing run.json
// is an error. Without an estimate.json there is no estimate.
Result<record::LiveRun> read_live_run(const fs::path& run_folder);

// Adds the state from state.json; without the file nothing changes.
Status read_state(const fs::path& run_folder, record::LiveRun& run);

// The content of state.json as text, and read from fields (also for a line of the index); problems
// are added to the fields'.
std::string state_json(const record::LiveRun& run);
void parse_state(JsonFields& fields, record::LiveRun& run);

// Writes state.json for many runs of an experiment at once: one wait for the disk instead of one
// each. After an error some are written.
Status write_states(const fs::path& experiment_folder,
                    const std::vector<const record::LiveRun*>& runs);

// Reads status.json of the folder of an attempt, all but its number; without the file it is
// "running" with nothing else known.
Result<record::Attempt> read_attempt(const fs::path& folder);
// Those in attempts/<n>, in the order of the numbers. from: the lowest number to read.
Result<std::vector<record::Attempt>> read_attempts(const fs::path& run_folder, int from = 1);

// Reads runs/<experiment>/experiment.json: what a follower needs without the experiment's file,
// namely its name, file, budget and expectations.
Result<std::optional<plan::Experiment>> read_experiment(const fs::path& experiment_folder);
Status write_experiment(const fs::path& experiment_folder, const plan::Experiment& experiment);

// runs/<experiment>/<id>/provenance.json: the origin of a run, recorded when its folder was
// written.
struct Provenance {
  std::string orch;             // orch's version
  std::string experiment_file;  // as it was given
  std::string cluster_file;
  std::string commit;                 // of the repository with the experiment's file; empty: none
  bool changed = false;               // the file, or one that it includes, differs from that commit
  std::vector<std::string> includes;  // files that it includes, relative to its folder
  std::vector<std::string> set;       // changes from the command line
};
Status read_provenance(const fs::path& run_folder, record::Origin& into);
std::string provenance_json(const Provenance& provenance);

// runs/<experiment>/wanted: the ids of runs that a user asked to submit, one per line, so that a
// resume after a crash submits those and no others. add_wanted keeps the existing ids; call it
// under the experiment's lock.
Result<std::set<std::string>> read_wanted(const fs::path& experiment_folder);
Status add_wanted(const fs::path& experiment_folder, const std::vector<std::string>& ids);

// Run folders of an experiment (entries with a run.json), by id, sorted.
std::vector<std::string> run_ids(const fs::path& experiment_folder);
// Experiments below a root: folders with at least one run or a submissions folder, sorted.
std::vector<std::string> experiments(const fs::path& root);

// An error if a file or folder belongs to another user. Root is no exception: it must not run files
// that others can change, nor leave its own files with them. A missing file is no error. `or_of`:
// another accepted owner, such as that of the experiment when its runs are only read.
Status check_ours(const fs::path& path, std::optional<unsigned> or_of = std::nullopt);
std::optional<unsigned> owner_of(const fs::path& path);  // uid; nothing if it cannot be determined
// The same for a folder; also an error if we may not write in it.
Status check_owner(const fs::path& folder);

}  // namespace orch::store
