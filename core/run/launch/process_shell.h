#pragma once

#include "core/base/shell.h"

namespace orch::launch {

// Runs programs as processes of their own group: a Ctrl-C meant for us does not end a half-done
// sbatch, and one that outlives us (killed) ends its work, writes its answer and then lets go of
// the lock it holds. Of our descriptors it inherits only that lock. Output beyond max_output bytes
// is an error.
class ProcessShell : public Shell {
 public:
  explicit ProcessShell(std::size_t max_output = std::size_t{256} << 20)
      : max_output_(max_output) {}
  Result<Output> run(const Command& command) override;

 private:
  std::size_t max_output_;
};

}  // namespace orch::launch
