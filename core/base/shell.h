#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch {

// A program to run, as an argument list: never a string for a shell to parse.
struct Command {
  std::vector<std::string> argv;  // the program is looked up in PATH
  fs::path directory = {};        // working directory; empty: ours
  std::string input = {};         // passed to its stdin
  fs::path output = {};           // a file for stdout instead of Output::out; truncated
  int hold = -1;                  // a descriptor that it keeps open until it ends: a lock
  double timeout_seconds = 60;    // after which it is killed
  bool parsed = true;             // its output is parsed by us: in English, times in seconds since
                                  // 1970; false where its environment is passed on to others, as
                                  // sbatch's is
};

struct Output {
  int code = 0;  // the exit code, or 128 + the signal
  std::string out;
  std::string err;
  bool timed_out = false;
};

// Runs programs. Variables that a surrounding SLURM session set are removed from their environment.
class Shell {
 public:
  virtual ~Shell() = default;
  // An error only where the program cannot be started.
  virtual Result<Output> run(const Command& command) = 0;
};

}  // namespace orch
