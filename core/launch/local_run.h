#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::launch {

// Seconds of a SLURM time limit; nothing for a text that is none.
using ParseTime = std::function<std::optional<double>(std::string_view)>;

// What of run.json a local run needs.
struct LocalRun {
  fs::path folder;
  std::string id;
  std::string backend;
  std::int64_t ranks = 1;
  std::int64_t data_parallel = 1;
  // A ramp-up is one phase here: this machine has no nodes to give back, so all ranks train from
  // the first batch to the last.
  std::int64_t first_batch = 1;
  std::int64_t last_batch = 1;
  std::int64_t samples = 0;
  std::optional<double> time_limit;  // seconds
  double signal_seconds = 0;         // USR1 so long before the limit
  std::map<std::string, std::string> environment;
  std::string data;   // prefix of the .bin and .idx to train on; empty: synthetic tokens
  std::string init;   // the checkpoint to begin with; empty: none
  std::string setup;  // shell text of the site, run before the trainer
};

Result<LocalRun> read_local_run(const fs::path& run_folder, const ParseTime& parse_time);

// The program of each rank: ORCH_TRAINER of the job's environment or ours, else the backend's
// trainer. Empty: there is no such program that we may execute.
struct Trainer {
  std::string wanted;
  fs::path path;
};
Trainer find_trainer(const LocalRun& run, const fs::path& trainers);

// Everything that would keep the run from starting on this machine.
Errors check_local_run(const LocalRun& run, const fs::path& trainers);

}  // namespace orch::launch
