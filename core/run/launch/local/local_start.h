#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"

namespace orch::launch {

// Starts a program that outlives us: in a session of its own, reading nothing, writing into a log.
// It inherits `hold` (if it is not -1) and a pipe; `heard` is false when it still holds that pipe
// after so many seconds. Not started: error says why.
struct Detached {
  bool started = false;
  bool heard = false;
  std::string error;
};
Detached start_detached(const std::vector<std::string>& argv, const fs::path& log, int hold,
                        double seconds);

}  // namespace orch::launch
