#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/shell.h"

namespace orch::launch {

// Seconds since boot for which these cores were in use, from the text of /proc/stat; includes time
// that a hypervisor gave to other guests. Nothing if a core is missing.
std::optional<double> used_seconds(const std::string& proc_stat, const std::vector<int>& cores);

// The mean clock of the cores in MHz, from the text of /proc/cpuinfo; nothing where it lists none,
// as on ARM.
std::optional<double> clock_of_cores(const std::string& cpuinfo);

// The load of a machine by other programs while a run trained on it, and its clock: the supervisor
// creates one before the ranks start. For cores it is the time of other programs while the ranks
// trained, for GPUs their use before.
class MachineLoad {
 public:
  // gpus: the run's GPUs, in the syntax of nvidia-smi -i; empty: the run computes on cores.
  MachineLoad(Shell& shell, Clock& clock, std::string gpus);

  // Call this often while ranks train: every few seconds it reads the clock. Returns a line of
  // events.jsonl with the use and the power of the run's GPUs when one is due, else nothing.
  std::string look();

  // A line of events.jsonl, once all ranks have ended and were waited for; empty: nothing is known.
  std::string event() const;

 private:
  struct Sample {
    std::optional<double> used;  // of the cores, by any program
    double own = 0, steady = 0;  // seconds
  };
  Sample sample() const;
  std::optional<double> others_share() const;
  struct Gpus {
    std::optional<double> share, clock, watts;  // their means
    std::size_t count = 0;                      // that told their power
  };
  Gpus ask_gpus() const;
  std::optional<double> use_by_others() const;

  Shell& shell_;
  Clock& clock_;
  std::string gpus_;
  std::vector<int> cores_;
  Sample start_;
  std::optional<double> gpu_share_;  // in use before the ranks started
  std::vector<double> clocks_;       // MHz
  double next_look_;                 // steady
};

}  // namespace orch::launch
