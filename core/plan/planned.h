#pragma once

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// A run with its price: what tables show and folders hold.
struct Planned {
  Run run;
  Estimate estimate;

  // What its jobs take of a budget: all of the training, or only so many steps of it.
  double job_hours() const { return run.steps > 0 ? job_days() * 24 * held_gpus() : estimate.gpu_hours; }
  double job_days() const {
    return run.steps > 0 ? static_cast<double>(run.steps) * estimate.step_seconds / 86400 : estimate.days_to_train;
  }

 private:
  double held_gpus() const { return static_cast<double>(run.gpus + run.spare_gpus()); }
};

}  // namespace orch::plan
