#pragma once

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// The GPU-hours of `steps` steps, spare nodes included.
inline double hours_of_steps(const Run& run, double step_seconds) {
  const auto held = static_cast<double>(run.gpus + run.spare_gpus());
  return static_cast<double>(run.steps) * step_seconds * held / 3600;
}

// A run with its estimate: what tables show and folders store.
struct Planned {
  Run run;
  Estimate estimate;

  // The GPU-hours that its jobs take: for all of the training, or only for `steps` steps.
  double job_hours() const {
    return run.steps > 0 ? hours_of_steps(run, estimate.step_seconds) : estimate.gpu_hours;
  }
  // What its jobs take, in the same way.
  Expense job_expense() const {
    const auto whole = estimate.expense();
    return estimate.gpu_hours > 0 ? whole.times(job_hours() / estimate.gpu_hours) : whole;
  }
  // `days` days of the run on its nodes, for the calendar.
  std::vector<Portion> portions(double days) const {
    if (run.steps > 0 || estimate.schedule.empty()) return {{days, run.nodes}};
    return estimate.portions(days);
  }
  double job_days() const {
    return run.steps > 0 ? static_cast<double>(run.steps) * estimate.step_seconds / kDay
                         : estimate.days_to_train;
  }
};

}  // namespace orch::plan
