#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/record/facts.h"
#include "core/run/launch/executor.h"

namespace orch::follow {

struct FollowLimits {
  int retries = 3;    // for a run with a transient failure
  int at_a_time = 0;  // array tasks that may run at once; 0: all
  // So many runs of a SLURM job one after another, each with a time limit; 0: each run has a job,
  // or a task of an array.
  std::size_t runs_per_job = 0;
  double run_seconds = 0;         // that limit; 0: by the estimate
  double patience_seconds = 600;  // how long to wait for a controller that does not answer
  double settle_seconds = 60;     // before a job without a trace counts as lost
  double hang_seconds = 600;      // without progress this long, and for many steps' time
  bool cancel_hung = false;       // cancel hanging runs and submit them again
  bool over_budget = false;       // submit runs even if they exceed the budget
  bool trust = false;             // accept folders of other users, and scripts that were changed
};

// The outside world; the pointed-to objects are not owned.
struct FollowEnvironment {
  launch::Executor* slurm = nullptr;  // null: not available here
  launch::Executor* local = nullptr;
  Clock* clock = nullptr;
  std::function<void(const std::string&)> say;  // prints a line
  std::function<bool()> interrupted;            // true if the user pressed Ctrl-C
  // Reads the progress from an attempt's log, where its trainer writes no events. May be empty.
  std::function<std::optional<record::TrainingProgress>(const fs::path& attempt_folder, double now)>
      log_progress;
  // Finds why an attempt failed. May be empty.
  std::function<record::FailureReport(const fs::path& attempt_folder)> confession;

  launch::Executor* executor(std::string_view name) const {
    return name == "slurm" ? slurm : name == "local" ? local : nullptr;
  }
};

}  // namespace orch::follow
