#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/price/backend/backend.h"
#include "core/price/backend/work.h"
#include "include/orch/backend.h"

namespace orch::backend {

// Receives a backend's answers about a run. Nothing is trusted: sizes are checked before fields,
// strings are copied, and invalid values become reasons.
struct Collector {
  Work* work = nullptr;  // null if only problems are asked for
  WorkTexts explained = WorkTexts::none;
  std::vector<Error>* reasons = nullptr;
  std::vector<Error>* warnings = nullptr;
  ProblemTally* tally = nullptr;  // if set, counts problems instead of listing them
  bool knows_memory = false;      // the work has its memory already: another is ignored
  bool is_full = false;           // a limit was reached, and the rest is ignored

  orch_sink sink();
  // Report inconsistencies once the backend is done: stages without work and the like; memory of
  // stages that there are not.
  void finish();
  void finish_memory();
  void flawed(std::string fact);
};

}  // namespace orch::backend
