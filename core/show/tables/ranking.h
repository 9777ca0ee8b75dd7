#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/tables/report.h"

namespace orch::tables {

// In the result's order; places are counted within each question.
std::vector<RunRank> ranks(const RankedRuns& result);

// "3 more layouts may be as fast (within the error of the estimates)": the number that share the
// first place.
std::string tie_text(std::size_t more, std::string_view noun, RankBy measure);

// A sentence for each strategy: the stack and the machine that its best run is estimated with, the
// rows that each was fitted to, and the distance of the run from them.
std::string stacks_text(const RankedRuns& result);

}  // namespace orch::tables
