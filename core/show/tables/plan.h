#pragma once

#include <cstddef>

#include "core/show/answer.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// Compares runs; a terminal shows the first `top` of each question; 0: all.
show::Table runs_table(const RankedRuns& result, std::size_t top);

// The answer of a plan: its runs, notes on them, and the best one.
show::Answer plan_answer(const RankedRuns& result, std::size_t top);

}  // namespace orch::tables
