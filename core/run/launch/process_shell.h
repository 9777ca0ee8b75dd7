#pragma once

#include "core/base/shell.h"

namespace orch::launch {

// Runs programs as processes in their own group: Ctrl-C does not interrupt a running sbatch, and if
// we are killed, it completes, writes its answer and only then releases the inherited lock. No
// other descriptor of ours is inherited. Output beyond max_output bytes is an error.
class ProcessShell : public Shell {
 public:
  explicit ProcessShell(std::size_t max_output = std::size_t{256} << 20)
      : max_output_(max_output) {}
  Result<Output> run(const Command& command) override;

 private:
  std::size_t max_output_;
};

// A program's error for a message: the last line of stderr that is not empty.
std::string complaint_of(const Output& output);

}  // namespace orch::launch
