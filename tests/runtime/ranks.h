#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/runtime/comm/comm.h"

namespace orch::test {

// The end of a rank.
struct RankOutcome {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  std::string said;    // its output, and the exception that ended it
  double seconds = 0;  // from the start of all ranks to its end

  bool ok() const { return exit_code == 0; }
};

struct RankOptions {
  double timeout_seconds = 30;  // for one collective
  std::string flight_folder;
  double jitter_ms = 0;
  // Called in the parent, while the ranks run.
  std::function<void(const std::vector<pid_t>&)> meanwhile;
};

// Each rank in its own process, forked before LibTorch has created a thread: the test's own process
// must not compute. When only stopped ranks are left, they are killed.
std::vector<RankOutcome> run_ranks(int count, const std::function<void(train::WorldOptions)>& body,
                                   const RankOptions& options = {});

// The same with an open world.
std::vector<RankOutcome> run_worlds(int count, const std::function<void(train::World&)>& body,
                                    const RankOptions& options = {});

// In a rank: adds to its output.
void say(const std::string& text);
void expect(bool condition, const std::string& what);  // throws

// In the test: the output of all ranks, if any failed.
std::string complaints(const std::vector<RankOutcome>& outcomes);  // empty: none failed

}  // namespace orch::test
