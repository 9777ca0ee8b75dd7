#include "core/run/launch/slurm/slurm.h"

namespace orch::launch {

Slurm probe_slurm(Shell& shell) {
  Command ping;
  ping.argv = {"scontrol", "ping"};
  ping.timeout_seconds = 15;  // it gives up by itself after about ten
  const auto answer = shell.run(ping);
  if (!answer) return Slurm::absent;
  if (answer->timed_out) return Slurm::unreachable;
  // The package is installed, but no cluster was ever named.
  if (answer->err.find("Could not establish a configuration source") != std::string::npos)
    return Slurm::absent;
  if (answer->code != 0) return Slurm::unreachable;
  Command version;
  version.argv = {"sbatch", "--version"};
  return shell.run(version) ? Slurm::reachable : Slurm::absent;
}

}  // namespace orch::launch
