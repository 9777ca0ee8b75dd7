#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/run/follow/backoff.h"
#include "core/run/follow/campaign.h"
#include "core/run/follow/submitter.h"

namespace orch::follow {

struct FollowOptions {
  PollInterval::Limits pace;
  bool carry_on = true;        // submit what is due: retries, continuations, leftovers
  std::set<std::string> only;  // restricted to these runs; empty: all
  std::function<void(const Campaign&)> drawn;  // called after each look
};

// Polls, submits what is due, and waits, until every wanted run has ended. Troubles are reported
// once and do not end it. False: the user pressed Ctrl-C; jobs continue without us.
bool follow(Campaign& campaign, const FollowOptions& options);

// Submits what is due (of these runs; none: of all), if no other orch is doing so and the budget
// allows it. Reports what it did.
Status carry_on(Campaign& campaign, FileLock::Wait wait, const std::set<std::string>& only,
                SubmitResult& handed);

}  // namespace orch::follow
