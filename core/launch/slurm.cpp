#include "core/launch/slurm.h"

#include <boost/process.hpp>
#include <chrono>
#include <thread>

namespace orch::launch {

namespace bp = boost::process;

Slurm probe_slurm() {
  const auto scontrol = bp::search_path("scontrol");
  if (scontrol.empty() || bp::search_path("sbatch").empty()) return Slurm::absent;
  std::error_code code;
  bp::child ping(scontrol, "ping", bp::std_in<bp::null, bp::std_out> bp::null,
                 bp::std_err > bp::null, code);
  if (code) return Slurm::absent;
  // Not wait_for: of a child that ends before it looks, it hears nothing until the time is over.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (ping.running(code)) {
    if (std::chrono::steady_clock::now() > deadline) {
      ping.terminate(code);
      return Slurm::unreachable;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return ping.exit_code() == 0 ? Slurm::reachable : Slurm::unreachable;
}

}  // namespace orch::launch
