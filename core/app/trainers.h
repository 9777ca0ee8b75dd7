#pragma once

#include <set>
#include <string>

#include "core/app/console.h"
#include "core/run/follow/campaign.h"

namespace orch::app {

// Whether this orch can build trainers: ORCH_BUILD_TRAINERS names the script that does, as ./orch
// of a clone sets it.
bool can_build_trainers();

// Builds orch-train-<backend> of each that is missing or older than its sources. Without
// a script it does nothing.
Ending build_trainers(const std::set<std::string>& backends);

// Builds orch-measure in the same way; nothing without a script.
Status build_measure();

// The backends of those of these runs that this machine trains itself, with trainers of their own.
std::set<std::string> local_backends(const follow::Campaign& campaign,
                                     const std::vector<std::size_t>& runs);

}  // namespace orch::app
