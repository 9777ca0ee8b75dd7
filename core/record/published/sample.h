#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/run.h"

namespace orch::published {

// A measured row as a run: what to predict, and what it should be.
struct Sample {
  std::string id, source, table;
  std::string date;  // YYYY-MM-DD, as far as it is known: a machine has eras
  plan::Run run;
  std::optional<double> step_seconds;
  std::optional<double> memory_bytes;  // on the fullest GPU, or:
  bool first_stage = false;            // on one of the first pipeline stage
  bool oom = false;                    // it ran out of memory
  bool host_oom = false;               // of the host's, with room left on the GPU
  std::string status;                  // as the row has it: ok, oom, hang or nothing
  std::vector<std::string> assumed;    // what the row leaves open, and what was taken for it
  bool assumed_sizes = false;          // only the number of parameters is known: nothing is fitted to it
  std::vector<std::string> inferred;   // of it, settings that a habit gave: "offload optimizer"
};

// A row that is no run of ours, and why.
struct Skipped {
  std::string id, source, table;
  std::string reason;
};

}  // namespace orch::published
