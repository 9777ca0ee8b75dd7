#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/shell.h"
#include "core/run/launch/slurm/slurm_facts.h"
#include "core/run/launch/slurm/slurm_jobs.h"

namespace orch::launch {

// SLURM's commands as functions. Each is one call of one program, however many jobs it is about
// (very long lists are cut), and bounded in time. Needs squeue of 20.02 or later.
class SlurmClient {
 public:
  explicit SlurmClient(Shell& shell) : shell_(shell) {}  // outlives us

  // All jobs of this user that the controller remembers and whose comment begins so.
  Result<std::vector<JobRow>> queue(const std::string& comment_prefix);

  // What accounting stored of these jobs (ids without tasks), with their steps; or of all jobs of
  // this user since a moment, without.
  Result<std::vector<JobRow>> accounting(const std::vector<std::string>& jobs);
  Result<std::vector<JobRow>> accounting_since(double time);
  // There is none on this cluster, or no sacct here: asking again is pointless.
  bool has_no_accounting() const { return no_accounting_; }

  // Jobs and tasks as scancel names them. Those that ended, or are unknown, are no error.
  Status cancel(const std::vector<std::string>& jobs);

  Result<ClusterFacts> facts();
  Result<std::int64_t> largest_array();  // tasks

 private:
  Result<std::vector<JobRow>> ask_accounting(const std::vector<std::string>& which);

  Shell& shell_;
  bool no_accounting_ = false;
  bool no_submit_line_ = false;  // before 21.08
};

enum class Slurm { absent, unreachable, reachable };

// Whether this machine has SLURM's commands and a configuration for them, and whether the
// controller answers within a few seconds.
Slurm probe_slurm(Shell& shell);

// What a program said on stderr, short enough for a message: its last line that says something.
std::string complaint_of(const Output& output);

}  // namespace orch::launch
