#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "backends/runtime/comm/blame.h"
#include "backends/runtime/comm/comm.h"

namespace orch::train {

enum class Progress { running, done, failed };

// A collective whose end nobody waits for on the host (NCCL's): the watch looks after it.
struct Followed {
  Entered what;
  std::function<Progress()> look;
  std::function<void()> ended;
  std::chrono::steady_clock::time_point deadline;
};

// A thread beside training that speaks with those of the other ranks through the store. When one
// rank notices a failure, the others answer for theirs even while these are stuck in a collective;
// who does not answer is to blame. The first to notice asks; all get the same verdict.
class Watch {
 public:
  // store: a connection of its own, since a call may be stuck in it. abort: ends what is under way.
  Watch(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
        const Whereabouts& rank0, std::function<void()> abort);
  ~Watch();

  void enter(const Entered& what);  // from now on is_inside
  void leave(const Entered& what);
  void follow(Followed followed);

  bool is_alarmed() const;  // somebody has noticed a failure
  // Who is to blame for the failure of `here`. Takes at most three seconds.
  std::string find_missing(const Entered& here);
  void announce(const std::string& why) noexcept;
  // Says that this rank leaves, and stays so long for the others to leave too (after a failure: to
  // have heard the verdict).
  void leave_with_others(std::chrono::milliseconds within);

 private:
  class Thread;
  const WorldOptions options_;
  const Whereabouts rank0_;
  std::shared_ptr<Thread> state_;
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace orch::train
