#pragma once

#include <string>

#include "core/plan/estimate.h"
#include "core/plan/run.h"

namespace orch::plan {

// estimate.json: the totals, without the items, and the run's variant, which tables show.
std::string estimate_json(const Run& run, const Estimate& estimate);

}  // namespace orch::plan
