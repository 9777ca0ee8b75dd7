#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/estimate.h"
#include "core/plan/resolve.h"
#include "core/plan/run.h"

namespace orch::plan {

// run.json: everything that decides what the run does, in a fixed order.
std::string run_json(const Run& run);

// "<label>-<hash8>", the hash being of run.json's text.
std::string run_id(const Run& run, const std::string& json);

// Back from run.json; place is the file, for messages. Warnings are not in it.
Result<Run> parse_run_json(const std::string& text, const std::string& place,
                           const std::vector<StrategyPtr>& strategies,
                           const FindCluster& find_cluster);

// estimate.json: the totals, without the items, and the run's variant, which tables show.
std::string estimate_json(const Run& run, const Estimate& estimate);

}  // namespace orch::plan
