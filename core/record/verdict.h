#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/record/facts.h"
#include "core/record/states.h"

namespace orch::record {

struct Verdict {
  State state = State::planned;
  Failure failure = Failure::none;
  std::string reason;  // a short text for people: why it pends, why it failed
  bool heard = true;   // false: the script should have said so itself; its file may only be late
};

// Everything known of one phase of a run since it was last submitted.
struct Evidence {
  const Submission* submission = nullptr;  // the last one of this phase; null: never submitted
  const JobFact* job = nullptr;            // what the executor says; null: it knows nothing
  bool executor_answered = false;          // whether it could be asked at all
  std::vector<const Attempt*> attempts;    // of this phase and submission, in order
  std::optional<Progress> progress;        // of the last attempt
  std::function<Confession()>
      confession;             // of the last attempt's log, which may be long; may be null
  std::int64_t steps = 0;     // that the run has, over all phases
  double step_seconds = 0;    // as estimated, for the hang
  double hang_seconds = 600;  // without a step for so long and many steps' time, it hangs
};

// What became of the phase. Absence is never success: finished is what a status.json calls
// finished, by the trainer's word, and what left with code 0 and no word after the last step of the
// run.
Verdict judge(const Evidence& evidence);

}  // namespace orch::record
