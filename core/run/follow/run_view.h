#pragma once

#include <optional>
#include <vector>

#include "core/record/live_run.h"
#include "core/run/follow/ledger.h"
#include "core/run/follow/options.h"

namespace orch::follow {

// The present state of a run.
struct FollowedRun : record::LiveRun {
  std::vector<record::Attempt> attempts;
  int phase = 1;                       // the phase that the verdict is about
  std::optional<record::JobFact> job;  // as last polled
  bool wanted = false;                 // a user asked for it to be run
  bool stop_file = false;              // a user asked for it to stop
  bool has_checkpoint = false;
  bool settled = false;       // its end is recorded in state.json
  bool judged = false;        // judged at least once since it was read
  bool damage_stays = false;  // the damaged file is not read again
  std::string damage;         // the file of its folder that cannot be read; empty: none
  double unheard_since = -1;  // steady clock: the end is unconfirmed since then; -1: no
};

// True if it waits, runs, or its end is not yet certain.
bool is_open(const FollowedRun& view);

// The number of submissions of the current phase that saved nothing, since a user last ran "retry".
int tries(const FollowedRun& view, const Ledger& ledger);

// True if it should be submitted now: it is wanted and was never submitted, stopped before its end,
// or failed for a transient reason with tries left.
bool is_due(const FollowedRun& view, const Ledger& ledger, const FollowLimits& options);

// Seconds of the last attempt, up to now if it runs.
double elapsed(const FollowedRun& view, double now);

// GPU-hours of all attempts; an attempt without a recorded end counts up to its last sign of life.
double gpu_hours_used(const FollowedRun& view, double now);

}  // namespace orch::follow
