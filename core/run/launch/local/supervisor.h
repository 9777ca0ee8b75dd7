#pragma once

#include <cstdint>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"
#include "core/run/launch/local/local_run.h"

namespace orch::launch {

struct SupervisorOptions {
  record::Submission submission;   // as stored in its folder
  fs::path trainers;               // the folder of orch-train-<backend>
  fs::path lock;                   // lets one supervisor at a time work; empty: local_lock_file()
  std::uint64_t memory_limit = 0;  // bytes, for all ranks together; 0: 95 % of what is available
  double kill_after_seconds = 10;  // from TERM to KILL
  double wait_seconds = 60;        // for the other ranks, once the first one has exited with 0
  double check_seconds = 300;      // time limit for ORCH_NODE_CHECK
};

// Runs the runs of a submission one after the other on this machine, each as default.sbatch would,
// and writes their results to the submission's folder. To be called in a process of its own,
// without threads, in its own session: it takes over signals, children and all descriptors above 2.
// It first writes its job id into "answer" and closes those descriptors, for which the process that
// started it waits; a submission that already has an answer is refused.
//   SIGTERM, SIGINT    cancel all runs that are left
//   SIGUSR1            the current run saves and stops
// A submission whose folder is deleted is cancelled.
// Returns the exit code: 0 once every run's end is on disk, whatever it is.
int supervise(const fs::path& submission_folder, const SupervisorOptions& options);

// The lock file that lets supervisors of this user on this machine work one at a time: in
// /tmp/orch-<uid>, or in $XDG_RUNTIME_DIR if another user has taken that name.
Result<fs::path> local_lock_file();

// The same in a given folder, which is created if it is missing. An error if others can write in
// it, or if it is a link.
Result<fs::path> lock_file_in(const fs::path& folder);

}  // namespace orch::launch
