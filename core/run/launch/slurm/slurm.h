#pragma once

#include "core/base/shell.h"

namespace orch::launch {

enum class Slurm { absent, unreachable, reachable };

// Whether this machine has SLURM's commands and a configuration for them, and whether the
// controller answers within a few seconds.
Slurm probe_slurm(Shell& shell);

}  // namespace orch::launch
