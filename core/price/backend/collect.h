#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/price/backend/backend.h"
#include "core/price/backend/work.h"
#include "include/orch/backend.h"

namespace orch::backend {

// Receives what a backend says about a run. Nothing is trusted: sizes are looked at before fields,
// texts are copied, and what makes no sense becomes a reason.
struct Collector {
  Work* work = nullptr;  // null while only problems are asked for
  Explained explained = Explained::none;
  std::vector<Error>* reasons = nullptr;
  std::vector<Error>* warnings = nullptr;
  Tally* tally = nullptr;  // instead of reasons and warnings
  bool is_full = false;    // more was said than anybody means

  orch_sink sink();
  // Says what does not add up once the backend is done: stages without work and the like.
  void finish();
  void flawed(std::string fact);
};

}  // namespace orch::backend
