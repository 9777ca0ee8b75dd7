#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::launch {

// A program as so many ranks on this machine, started as a local run's trainers are.
struct Together {
  std::vector<std::string> argv;  // the first is a path
  std::int64_t ranks = 1;
  fs::path folder;  // to work in; gets output.log
  double timeout_seconds = 120;
  std::function<bool()> interrupted;
};

// Until all of them have ended well. When one fails, the time is over or we are interrupted, all
// are ended; the error has the end of what they said. They die with us.
Status run_together(const Together& program);

}  // namespace orch::launch
