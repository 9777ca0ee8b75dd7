#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/run.h"

namespace orch::plan {

// What every backend would refuse (reasons) or regret (warnings): ranks and GPUs, nodes and the
// partition, the batch at every step of the ramp-up, the model's sizes, the number format.
void check(const Run& run, const Budget& budget, std::vector<Error>& reasons,
           std::vector<Error>& warnings);

}  // namespace orch::plan
