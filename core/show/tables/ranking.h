#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/show/tables/report.h"

namespace orch::tables {

// In the result's order; each question has its own first place.
std::vector<Rank> ranks(const RankedRuns& result);

// "3 more layouts may be as fast (within the error of the estimates)": how many share the best
// one's place.
std::string tie_text(std::size_t more, std::string_view noun, Measure measure);

// A sentence for each strategy: the software and the machine that its best run is priced by, the
// rows that each was fitted to, and how far the run is from them.
std::string stacks_text(const RankedRuns& result);

}  // namespace orch::tables
