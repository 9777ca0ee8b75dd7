#pragma once

#include "core/app/app.h"
#include "core/show/tables/report.h"

namespace orch::app {

// Searches near the runs of a plan. For each question (core/plan/tie.h) without a run that fits:
// what would fit with the fewest changes, first of settings, then of the layout, then of the number
// of GPUs. For the others: strategies for which a search finds a run a tenth faster than the listed
// ones. The search is quick: larger spaces are skipped.
std::vector<tables::NearbyRun> look_around(App& app, const tables::RankedRuns& plan);

}  // namespace orch::app
