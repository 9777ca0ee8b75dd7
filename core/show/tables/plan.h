#pragma once

#include <cstddef>

#include "core/show/answer.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// Runs side by side, those on a terminal the first `top` of each question; 0: all.
show::Table runs_table(const RankedRuns& result, std::size_t top);

// What an experiment came to: its runs, what is to be said of them, and which one is best.
show::Answer plan_answer(const RankedRuns& result, std::size_t top);

}  // namespace orch::tables
