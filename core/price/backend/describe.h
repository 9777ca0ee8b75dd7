#pragma once

#include <vector>

#include "core/price/backend/abi.h"
#include "core/base/result.h"
#include "core/plan/strategy.h"

namespace orch::backend {

// What the author of a plug-in that does not fit can do.
inline constexpr const char* kRebuild = "rebuild it with this orch's SDK, or take it out of the folder";

// The handshake: what is wrong with a backend's description before its strategies are looked at.
Errors check_description(const orch_backend* abi, const std::string& place);

// The strategies that a backend describes; problems are added to errors.
std::vector<plan::StrategyPtr> strategies_of(const orch_backend& abi, const std::string& place,
                                             Errors& errors);

}  // namespace orch::backend
