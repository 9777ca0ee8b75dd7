#pragma once

namespace orch::cli {

// What orch tells its caller; README and --help list them.
enum Exit : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,
  kInvalidExperiment = 3,
  kRunsFailed = 4,
  kSchedulerUnreachable = 5,
  kOverBudget = 6,
  kOverTolerance = 7,
  kInterrupted = 130,
};

}  // namespace orch::cli
