#pragma once

#include "core/base/shell.h"
#include "core/run/launch/executor.h"

namespace orch::launch {

// Interprets the reply of sbatch --parsable. output.out: its stdout, wherever that went.
//
// The important distinction is between "nothing was submitted" (refused, no_room, unreachable)
// and "unknown" (unclear). A controller that answers too late has often accepted the job, so only
// a connection that was never made counts as unreachable.
SubmitOutcome read_reply(const Output& output);

}  // namespace orch::launch
