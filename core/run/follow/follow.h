#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/run/follow/backoff.h"
#include "core/run/follow/campaign.h"
#include "core/run/follow/submitter.h"

namespace orch::follow {

struct FollowOptions {
  Pace::Limits pace;
  bool carry_on = true;        // submit what is due: retries, continuations, what had no room
  std::set<std::string> only;  // of these runs; empty: of all
  std::function<void(const Campaign&)> drawn;  // after each look
};

// Looks, submits what is due, and waits, until every run that was asked for has ended. Troubles are
// said once and do not end it. False: someone pressed Ctrl-C; jobs go on without us.
bool follow(Campaign& campaign, const FollowOptions& options);

// Submits what is due (of these runs; none: of all), if no other orch does and the budget allows
// it. Says what it did.
Status carry_on(Campaign& campaign, FileLock::Wait wait, const std::set<std::string>& only,
                Handed& handed);

}  // namespace orch::follow
