#pragma once

#include <cstdint>
#include <string>

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
  std::string fit;             // fits, tight or oom
  double step_seconds = 0;     // as estimated
  double step_low = 0;
  double step_high = 0;
  double tokens_per_second = 0;
  double peak_memory = 0;  // bytes
  double days_per_100b_tokens = 0;
  double communicated_bytes = 0;  // in a step, by one rank; 0: none, or not known
  double bubble = 0;              // share of a step that stages are idle
  double gpu_hours = 0;           // of the job: its steps, or the whole training
};

}  // namespace orch::record
