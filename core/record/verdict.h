#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/record/facts.h"
#include "core/record/states.h"

namespace orch::record {

struct StateVerdict {
  RunState state = RunState::planned;
  Failure failure = Failure::none;
  std::string reason;  // a short text for users: why it is pending, why it failed
  bool heard = true;   // false: not confirmed by the script; its file may be late
};

// Everything known about one phase of a run since it was last submitted.
struct Evidence {
  const Submission* submission = nullptr;    // the last one of this phase; null: never submitted
  const JobFact* job = nullptr;              // the executor's report; null: unknown to it
  bool executor_answered = false;            // false: it could not be asked
  std::vector<const Attempt*> attempts;      // of this phase and submission, in order
  std::optional<TrainingProgress> progress;  // of the last attempt
  std::function<FailureReport()>
      confession;             // from the last attempt's log, which may be long; may be null
  std::int64_t steps = 0;     // steps of the run, over all phases
  double step_seconds = 0;    // estimated, to detect a hang
  double hang_seconds = 600;  // without a step this long, and for many steps' time
};

// Determines the state of the phase. Missing information never means success: finished needs a
// status.json with that state, which the trainer confirmed, or an exit with code 0 after the last
// step of the run.
StateVerdict judge(const Evidence& evidence);

}  // namespace orch::record
