#pragma once

#include <optional>
#include <vector>

#include "core/record/live_run.h"
#include "core/run/follow/ledger.h"
#include "core/run/follow/options.h"

namespace orch::follow {

// A run as it stands.
struct RunView : record::LiveRun {
  std::vector<record::Attempt> attempts;
  int phase = 1;                       // the one that the verdict speaks of
  std::optional<record::JobFact> job;  // as last polled
  bool wanted = false;                 // someone asked for it to be run
  bool stop_file = false;              // someone asked for it to stop
  bool has_checkpoint = false;
  bool settled = false;       // its end is noted in state.json
  bool judged = false;        // at least once since it was read
  bool damage_stays = false;  // the damaged file is not looked at again
  std::string damage;         // which file of its folder cannot be read; empty: none
  double unheard_since = -1;  // steady clock: its end came no message of the script; -1: no
};

// Whether it waits, runs, or its end is not yet certain.
bool is_open(const RunView& view);

// How often the current phase was submitted without having saved anything, since a user last said
// "retry".
int tries(const RunView& view, const Ledger& ledger);

// Whether it should be submitted now: it was asked for and never submitted, stopped with more to
// do, or failed for a transient reason and has tries left.
bool is_due(const RunView& view, const Ledger& ledger, const Options& options);

// Seconds of the last attempt, up to now if it runs.
double elapsed(const RunView& view, double now);

// GPU-hours of all attempts; one that could not say its end counts to its last sign of life.
double gpu_hours_used(const RunView& view, double now);

}  // namespace orch::follow
