#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/shell.h"

namespace orch::launch {

// Seconds since boot that someone used these cores, by the text of /proc/stat; what a hypervisor
// gave to other guests counts too. Nothing where a core is not there.
std::optional<double> used_seconds(const std::string& proc_stat, const std::vector<int>& cores);

// The mean clock of the cores in MHz, by the text of /proc/cpuinfo; nothing where it has none, as
// on ARM.
std::optional<double> clock_of_cores(const std::string& cpuinfo);

// What else a machine did while a run trained on it, and at which clock: its supervisor makes one
// before the ranks start. Of cores it is the time of others while the ranks trained, of GPUs what
// they did before.
class MachineLoad {
 public:
  // gpus: those of the run, as nvidia-smi -i takes them; empty: it computes on cores.
  MachineLoad(Shell& shell, Clock& clock, std::string gpus);

  // While ranks train, often: every few seconds the clock is read. Then the use and the power of
  // the run's GPUs are a line of events.jsonl; mostly there is none.
  std::string look();

  // A line of events.jsonl, once all ranks have ended and were waited for; empty: nothing is known.
  std::string event() const;

 private:
  struct Sample {
    std::optional<double> used;  // of the cores, by anyone
    double own = 0, steady = 0;  // seconds
  };
  Sample sample() const;
  std::optional<double> others_share() const;
  struct Gpus {
    std::optional<double> share, clock, watts;  // their means
  };
  Gpus ask_gpus() const;
  std::optional<double> use_by_others() const;

  Shell& shell_;
  Clock& clock_;
  std::string gpus_;
  std::vector<int> cores_;
  Sample start_;
  std::optional<double> gpu_share_;  // that was in use before the ranks started
  std::vector<double> clocks_;       // MHz
  double next_look_;                 // steady
};

}  // namespace orch::launch
