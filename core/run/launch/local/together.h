#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::launch {

// A program that is started as several ranks on this machine, like a local run's trainers.
struct LocalRanks {
  std::vector<std::string> argv;  // the first one is a path
  std::int64_t ranks = 1;
  fs::path folder;  // working directory; gets output.log
  double timeout_seconds = 120;
  std::function<bool()> interrupted;
};

// Waits until all of them have exited with 0. If one fails, the time is over or we are interrupted,
// all are ended; the error has the end of their output. They die with us.
Status run_together(const LocalRanks& program);

}  // namespace orch::launch
