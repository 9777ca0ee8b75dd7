#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/app/console.h"
#include "core/run/follow/campaign.h"
#include "core/show/tables/status.h"

namespace orch::app {

// Runs of an experiment that were named; all of them when there are none.
struct Target {
  std::string experiment;
  std::set<std::string> runs;
};

// The places of a target's runs in a campaign.
std::vector<std::size_t> places(const follow::Campaign& campaign, const Target& target);

tables::Standings standings(const follow::Campaign& campaign, const Target& target);

// Of runs that ended: whether some failed.
Exit exit_of(const tables::Standings& standings);

}  // namespace orch::app
