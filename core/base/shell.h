#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch {

// A program to run: words, never a string for a shell to take apart.
struct Command {
  std::vector<std::string> argv;  // the first is looked for in PATH
  fs::path directory = {};        // to run it in; empty: ours
  std::string input = {};         // its stdin
  fs::path output = {};           // a file for its stdout instead of Output::out; is made anew
  int hold = -1;                  // a descriptor of ours that it keeps open until it ends: a lock
  double timeout_seconds = 60;    // then it is killed
  bool parsed = true;             // we read what it says: in English, times in seconds since 1970;
                                  // false where its environment goes on to others, as sbatch's does
};

struct Output {
  int code = 0;  // the exit code, or 128 + the signal
  std::string out;
  std::string err;
  bool timed_out = false;
};

// Runs programs. What a session's SLURM leaves in the environment is kept from them.
class Shell {
 public:
  virtual ~Shell() = default;
  // An error only where the program cannot be started.
  virtual Result<Output> run(const Command& command) = 0;
};

}  // namespace orch
