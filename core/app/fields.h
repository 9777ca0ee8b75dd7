#pragma once

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/planned.h"
#include "core/plan/value.h"

namespace orch::app {

// A field of a priced run by name, for --where: the run's own, the strategy's settings, and the
// estimate's under the names they have in JSON. A parameter that only another strategy has reads as
// nil, so that one filter can speak of several; a name that nobody knows is an error.
Result<plan::Value> field(const plan::Planned& planned, std::string_view name,
                          const std::vector<plan::StrategyPtr>& strategies);

}  // namespace orch::app
