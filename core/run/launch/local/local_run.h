#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/run.h"

namespace orch::launch {

// A run on this machine, from its folder. A ramp-up is one phase here: there are no nodes to give
// back, so all ranks train from the first batch to the last.
struct LocalRun {
  fs::path folder;
  plan::Run run;
  std::optional<double> time_limit;  // seconds

  std::int64_t first_batch() const { return run.batch_at(0); }
};

Result<LocalRun> read_local_run(const fs::path& run_folder);

// The script that starts a framework in the trainer's place, in the run's folder.
inline constexpr const char* kStart = "start";

// The program of each rank: as the run was planned, or the backend's own, among ours or on PATH.
// Without a path: there is no such program that we may execute.
struct Trainer {
  std::string wanted;
  fs::path path;
};
Trainer find_trainer(const plan::Run& run, const fs::path& trainers);

// Everything that would keep the run from starting on this machine.
Errors check_local_run(const LocalRun& local, const fs::path& trainers);

}  // namespace orch::launch
