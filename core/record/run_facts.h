#pragma once

#include <cstdint>
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
  double tokens_per_step = 0;  // at the full batch
  int phases = 0;              // job scripts: job.sbatch, job-2.sbatch, ...; 0: none, a local run
  Estimated estimated;         // before it ran; gpu_hours are of the job: its steps, or all of it
};

}  // namespace orch::record
