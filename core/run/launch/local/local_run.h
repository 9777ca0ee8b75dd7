#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/run.h"

namespace orch::launch {

// A run on this machine, from its folder. A ramp-up is a single phase here: no nodes can be
// released, so all ranks train from the first batch to the last.
struct LocalRun {
  fs::path folder;
  plan::Run run;
  std::optional<double> time_limit;  // seconds

  std::int64_t first_batch() const { return run.batch_at(0); }
};

Result<LocalRun> read_local_run(const fs::path& run_folder);

// The script in the run's folder that starts a framework instead of our trainer.
inline constexpr const char* kStart = "start";

// The program of each rank: the planned one, or the backend's own, among our trainers or in PATH.
// An empty path: no such program can be executed.
struct Trainer {
  std::string wanted;
  fs::path path;
};
Trainer find_trainer(const plan::Run& run, const fs::path& trainers);

// All reasons why the run cannot start on this machine.
Errors check_local_run(const LocalRun& local, const fs::path& trainers);

}  // namespace orch::launch
