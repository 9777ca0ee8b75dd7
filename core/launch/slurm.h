#pragma once

namespace orch::launch {

enum class Slurm { absent, unreachable, reachable };

// Whether this machine has SLURM's commands and its controller answers within a few seconds.
Slurm probe_slurm();

}  // namespace orch::launch
