#include "core/launch/slurm.h"

#include <boost/process.hpp>
#include <chrono>

namespace orch::launch {

namespace bp = boost::process;

Slurm probe_slurm() {
  const auto scontrol = bp::search_path("scontrol");
  if (scontrol.empty() || bp::search_path("sbatch").empty()) return Slurm::absent;
  std::error_code code;
  bp::child ping(scontrol, "ping", bp::std_in<bp::null, bp::std_out> bp::null,
                 bp::std_err > bp::null, code);
  if (code) return Slurm::absent;
  if (!ping.wait_for(std::chrono::seconds(10), code)) {
    ping.terminate(code);
    return Slurm::unreachable;
  }
  return ping.exit_code() == 0 ? Slurm::reachable : Slurm::unreachable;
}

}  // namespace orch::launch
