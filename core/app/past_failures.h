#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/plan/cluster.h"
#include "core/record/states.h"
#include "core/run/launch/slurm/slurm_history.h"

namespace orch::app {

// An attempt of a run of ours, with why it ended.
struct PastAttempt {
  std::string run;  // its folder
  std::string job;  // the id that the job saw
  double start = 0, end = 0;
  std::int64_t gpus = 0;
  double wait = -1;  // from its submission to its start, in seconds; below 0: unknown
  record::Failure failure = record::Failure::none;
  bool again = false;  // SLURM ended it and started the same job again: that it failed is inferred

  double hours() const { return start > 0 && end > start ? (end - start) / 3600 : 0; }
};

// Jobs and attempts of one origin: what they held, and how often the machine ended one.
struct FailureSource {
  std::string kind;  // "sacct" or "attempts"
  std::size_t jobs = 0;
  double gpu_hours = 0;
  std::map<std::string, std::size_t> failures;  // by SLURM's state, or by class
  double from = 0, to = 0;                      // seconds since 1970

  std::size_t failed() const;
};

// Jobs that could have been counted.
struct UncountedJobs {
  std::string what;
  std::size_t count = 0;
  std::string why;
};

// What the past says about a cluster, or about one partition of it.
struct PastFailures {
  std::vector<FailureSource> sources;  // those that have jobs
  std::vector<UncountedJobs> uncounted;
  std::vector<double> waits;   // seconds in the queue, of jobs that are large enough
  std::int64_t wait_gpus = 0;  // from this size on
  std::string waits_of;        // "sacct"

  double gpu_hours() const;
  std::size_t failed() const;
  double from() const;
  double to() const;
};

// The attempts in run folders, in folders of them, or in folders of these, of the runs on this
// cluster (and partition); how many runs are of others is added.
Result<std::vector<PastAttempt>> read_past_attempts(const fs::path& folder,
                                                    const std::string& cluster,
                                                    const std::string& partition,
                                                    std::size_t& of_others);

// True if the machine is to blame, and not the program, its user or a limit.
bool is_of_machine(record::Failure failure);

// Counts what both know once: the hours by sacct, and failures that only one of them saw. An empty
// partition: all.
PastFailures count_failures(const launch::JobHistory& history,
                            const std::vector<PastAttempt>& attempts, const plan::Cluster& cluster,
                            const std::string& partition);

}  // namespace orch::app
