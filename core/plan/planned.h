#pragma once

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// A run with its price: what tables show and folders hold.
struct Planned {
  Run run;
  Estimate estimate;
};

}  // namespace orch::plan
