#pragma once

#include <set>
#include <string>

#include "core/app/console.h"
#include "core/run/follow/campaign.h"

namespace orch::app {

// True if this orch can build trainers: ORCH_BUILD_TRAINERS names the script, set by ./orch in a
// clone.
bool can_build_trainers();

// Builds each missing or outdated orch-train-<backend>. Without a script it does nothing.
Ending build_trainers(const std::set<std::string>& backends);

// Builds orch-measure in the same way.
Status build_measure();

// The backends of those runs that train on this machine with our own trainers.
std::set<std::string> local_backends(const follow::Campaign& campaign,
                                     const std::vector<std::size_t>& runs);

}  // namespace orch::app
