#pragma once

#include <string>
#include <vector>

#include "core/plan/experiment.h"
#include "core/plan/planned.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// What a search came to: the best layouts by three measures, the best of each strategy, the front.
struct Searched {
  const plan::Experiment* experiment = nullptr;
  std::vector<const plan::Planned*> time, strategies, gpu_hours, headroom, pareto;
  double space = 0;  // configurations
  double evaluated = 0;
  double rejected = 0;  // by a check
  double oom = 0;
  double seconds = 0;
  bool complete = true;      // false: interrupted
  bool keeps_budget = true;  // false: nothing does
};

std::string json(const Searched& searched);
std::string csv(const Searched& searched);  // the list before the columns of a plan
std::string table(const Searched& searched, const Screen& screen);

}  // namespace orch::tables
