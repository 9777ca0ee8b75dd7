#pragma once

#include "core/app/app.h"
#include "core/show/tables/report.h"

namespace orch::app {

// Looks around the runs of a plan: of each question (core/plan/tie.h) of which no run fits, what
// would fit with the fewest changes, first of settings, then of the layout, then of the number of
// GPUs; of the others, the strategies that a search finds a tenth faster than they are listed. The
// search is a quick one: of larger spaces nothing is said.
std::vector<tables::Nearby> look_around(App& app, const tables::RankedRuns& plan);

}  // namespace orch::app
