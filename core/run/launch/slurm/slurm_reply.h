#pragma once

#include "core/base/shell.h"
#include "core/run/launch/executor.h"

namespace orch::launch {

// What sbatch --parsable meant. output.out: its stdout, wherever that went.
//
// The difference that matters is between "nothing was submitted" (refused, no_room, unreachable)
// and "who knows" (unclear). A controller that answers too late has often taken the job all the
// same, so only a connection that was never made counts as unreachable.
Submitted read_reply(const Output& output);

}  // namespace orch::launch
