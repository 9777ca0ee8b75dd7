#pragma once

#include <string>

#include "core/record/record.h"
#include "core/record/verdict.h"

namespace orch::record {

// state.json: what orch knows of a run. Written when that changes for good (an end, an order to
// cancel), so that it outlives what SLURM remembers.
struct Outcome {
  Verdict verdict;
  bool cancel_asked = false;   // by orch cancel; a resume leaves it alone, a retry does not
  int retries_from = 0;        // submissions before this many do not count against the limit
  double gpu_hours = 0;        // used so far
  double end = 0;              // seconds since 1970; 0: not ended
  double elapsed_seconds = 0;  // of the last attempt
  std::string submission;      // the last one, of which the verdict is
  Measurement measured;        // so far; without steps there is nothing yet
};

}  // namespace orch::record
