#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/record/facts.h"
#include "core/run/launch/executor.h"

namespace orch::follow {

struct Options {
  int retries = 3;                // of a run whose failure is transient
  int at_a_time = 0;              // tasks of an array that may run at once; 0: all
  double patience_seconds = 600;  // for a controller that does not answer
  double settle_seconds = 60;     // before a job without a trace counts as lost
  double hang_seconds = 600;      // without progress for so long, and many steps' time, it hangs
  bool cancel_hung = false;       // and submit it again
  bool over_budget = false;       // submit also what goes over it
  bool trust = false;  // take folders of other users, and submit scripts that were changed
};

// The outside world, borrowed.
struct World {
  launch::Executor* slurm = nullptr;  // null: not available here
  launch::Executor* local = nullptr;
  Clock* clock = nullptr;
  std::function<void(const std::string&)> say;  // a line of news
  std::function<bool()> interrupted;            // someone pressed Ctrl-C
  // Of an attempt whose trainer writes no events: what its log says. May be missing.
  std::function<std::optional<record::Progress>(const fs::path& attempt_folder, double now)>
      log_progress;
  // What an attempt failed of. May be missing.
  std::function<record::Confession(const fs::path& attempt_folder)> confession;

  launch::Executor* executor(std::string_view name) const {
    return name == "slurm" ? slurm : name == "local" ? local : nullptr;
  }
};

}  // namespace orch::follow
