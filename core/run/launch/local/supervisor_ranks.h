#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/run/launch/local/supervisor_output.h"

namespace orch::launch {

struct RankCommand {
  std::vector<std::string> argv;  // the first one is a path
  std::map<std::string, std::string> environment;
  std::vector<int> cores;  // to bind it to; empty: no binding
  fs::path directory;
};

// The end of a process, as a shell reports it.
struct RankEnd {
  std::size_t rank = 0;
  int code = 0;    // the exit code, or 128 + the signal
  int signal = 0;  // 0: it exited by itself
};
std::string text(const RankEnd& end);  // "rank 2: exited with code 3"

// Processes that work together: each leads its own process group, writes into a log, and dies with
// us. The caller must have blocked SIGCHLD and be single-threaded.
class Ranks {
 public:
  explicit Ranks(RankLog& log) : log_(log) {}
  ~Ranks();  // ends processes that are left
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Status start(const std::vector<RankCommand>& commands);

  // Waits for output, an event on the descriptor, or the time limit; then reads the output and
  // records ended processes.
  void step(int descriptor, int milliseconds);

  bool running() const { return running_ > 0; }
  const std::vector<RankEnd>& ended() const { return ended_; }  // in the order of their ends
  void signal(int number);                                      // to all remaining groups
  // After all ranks have ended: ends their orphaned descendants, and reads the rest of their
  // output.
  void clean_up();

 private:
  struct Rank {
    pid_t pid = 0;
    Descriptor output;
    bool running = false;
  };
  Status start_one(const RankCommand& command);
  void read_output(std::size_t rank);
  void close_output(std::size_t rank);
  void reap();

  RankLog& log_;
  std::vector<Rank> ranks_;
  std::vector<RankEnd> ended_;
  std::size_t running_ = 0;
};

}  // namespace orch::launch
