#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/shell.h"
#include "core/run/launch/slurm/slurm_facts.h"
#include "core/run/launch/slurm/slurm_jobs.h"

namespace orch::launch {

// SLURM's commands as functions. Each is one call of one program, for any number of jobs (very long
// lists are split), with a time limit. Needs squeue of 20.02 or later.
class SlurmClient {
 public:
  explicit SlurmClient(Shell& shell) : shell_(shell) {}  // must outlive us

  // All jobs of this user that the controller remembers and whose comment has this prefix.
  Result<std::vector<JobRow>> queue(const std::string& comment_prefix);

  // Accounting records of these jobs (ids without tasks), with their steps; or of all jobs of this
  // user since a moment, without steps.
  Result<std::vector<JobRow>> accounting(const std::vector<std::string>& jobs);
  Result<std::vector<JobRow>> accounting_since(double time);
  // The same as text for parse_job_history: each start of each job of this user.
  Result<std::string> history_since(double time);
  // True if this cluster has no accounting, or there is no sacct: asking again is pointless.
  bool has_no_accounting() const { return no_accounting_; }

  // Jobs and tasks in scancel's syntax. Ended and unknown ones are not an error.
  Status cancel(const std::vector<std::string>& jobs);

  Result<ClusterFacts> facts();
  Result<std::int64_t> largest_array();  // number of tasks

 private:
  Result<std::vector<JobRow>> ask_accounting(const std::vector<std::string>& which);

  Shell& shell_;
  bool no_accounting_ = false;
  bool no_submit_line_ = false;  // before 21.08
};

enum class SlurmAnswer { absent, unreachable, reachable };

// Checks if this machine has SLURM's commands with a configuration, and if the controller answers
// within a few seconds.
SlurmAnswer probe_slurm(Shell& shell);

}  // namespace orch::launch
