#pragma once

#include <cstdint>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"
#include "core/run/launch/local/local_run.h"

namespace orch::launch {

struct SupervisorOptions {
  record::Submission submission;   // as its folder has it
  fs::path trainers;               // the folder of orch-train-<backend>
  fs::path lock;                   // one supervisor at a time works; empty: local_lock_file()
  std::uint64_t memory_limit = 0;  // bytes, of all ranks together; 0: 95 % of what is available
  double kill_after_seconds = 10;  // from TERM to KILL
  double wait_seconds = 60;        // for the others, once the first rank has left with 0
  double check_seconds = 300;      // for ORCH_NODE_CHECK
};

// Does the runs of a submission one after the other on this machine, each as default.sbatch would,
// and says in the submission's folder how they end. It is the work of a process of its own, without
// threads, in a session of its own: signals, children and all descriptors above 2 are its. It first
// writes its job id into "answer" and closes those descriptors, which ends the wait of whoever
// started it; a submission that has an answer already is refused.
//   SIGTERM, SIGINT    cancel all runs that are left
//   SIGUSR1            the run at hand saves and stops
// A submission whose folder is deleted is cancelled.
// Returns the exit code: 0 once every run has an end on disk, whichever it is.
int supervise(const fs::path& submission_folder, const SupervisorOptions& options);

// The file by which supervisors of this user on this machine take turns: in /tmp/orch-<uid>, or in
// $XDG_RUNTIME_DIR where someone else has taken that name.
Result<fs::path> local_lock_file();

// The same in a folder of one's own, which is made if need be. An error if others can write in it,
// or if it is a link.
Result<fs::path> lock_file_in(const fs::path& folder);

}  // namespace orch::launch
