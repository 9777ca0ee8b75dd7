#include "core/plan/experiment.h"

namespace orch::plan {

bool has_limits(const Budget& budget) {
  return budget.gpu_hours > 0 || budget.deadline_days > 0 || budget.deadline;
}

bool keeps_limits(const Experiment& experiment, double gpu_hours,
                  const std::vector<Portion>& portions) {
  const auto& budget = experiment.budget;
  const auto& calendar = experiment.calendar;
  if (budget.gpu_hours > 0 && gpu_hours > budget.gpu_hours) return false;
  if (budget.deadline_days > 0 && calendar.calendar_days(portions) > budget.deadline_days)
    return false;
  if (!budget.deadline) return true;
  const auto end = calendar.end(portions);
  return end && *end <= *budget.deadline;
}

}  // namespace orch::plan
