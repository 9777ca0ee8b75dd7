#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/record/record.h"

namespace orch::record {

// What a follower must know of a run, from run.json, estimate.json and the scripts beside them.
struct RunFacts {
  std::string experiment;
  std::string id;
  std::string strategy;
  // "tensor_parallel=2 dtype=fp32": its layout, and settings other than the defaults.
  std::string variant;
  std::string cluster;
  std::int64_t gpus = 0;
  std::int64_t nodes = 0;
  std::int64_t accumulate = 1;
  std::int64_t steps = 0;      // that the job does: asked for, or all the tokens
  int phases = 0;              // job scripts: job.sbatch, job-2.sbatch, ...; 0: none, a local run
  // Before it ran; gpu_hours are of the job: its steps, or all of it.
  std::optional<plan::Estimate> estimated;

  double estimated_hours() const { return estimated ? estimated->gpu_hours : 0; }
  double estimated_step() const { return estimated ? estimated->step_seconds : 0; }
};

}  // namespace orch::record
