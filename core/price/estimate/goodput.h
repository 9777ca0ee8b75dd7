#pragma once

#include <limits>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::estimate {

// A training that fails at random, saves in the background, and runs in jobs. Times in seconds.
struct FailureModel {
  double failures = 0;    // per second of a job
  double stall = 0;       // a save stops training for this long
  double save = 0;        // from the beginning of a save until a restart can use it
  double start = 0;       // from the start of a job to its first step
  double detection = 0;   // from a failure to the end of its job
  double queue_wait = 0;  // before a job
  double last_save = 0;   // at the end of a job that reaches job_seconds
  double job_seconds = std::numeric_limits<double>::infinity();  // the longest job
};

// The time of a training, per second of computing.
struct TimeLoss {
  double held = 1;        // time of jobs, computing included
  double queue = 0;       // between jobs
  double saving = 0;      // parts of `held`
  double restarting = 0;  // detection and start
  double repeated = 0;    // computing that was lost with its job
  double failures = 0;

  double wall() const { return held + queue; }
  double lost() const { return 1 - 1 / wall(); }  // as a share of the wall time
  void add(const TimeLoss& other, double times);
};

// The expected loss with `interval` seconds of computing between saves; not finite if no job gets
// as far as a first save.
TimeLoss time_lost(const FailureModel& model, double interval);

// The interval that loses the least, up to `longest`.
double best_interval(const FailureModel& model, double longest);

// The quantile of a Gamma distribution of mean 1, for a normal quantile: -1.645 for 5 %.
double gamma_quantile(double shape, double normal);

// The size of a checkpoint: weights and optimizer states.
double checkpoint_bytes(const plan::Run& run);

// The model of a run on this many nodes and GPUs, without a limit of its jobs if one is enough for
// `seconds` of computing.
FailureModel failure_model(const plan::Run& run, std::int64_t nodes, std::int64_t gpus,
                           double step_seconds, double seconds);

// Adds failures, checkpoints, cost, energy and CO2 to an estimate that has its days; each stretch
// of a schedule has its own rates. Without checkpoint_every the best interval is assumed.
void add_failures(const plan::Run& run, plan::Estimate& out);

}  // namespace orch::estimate
