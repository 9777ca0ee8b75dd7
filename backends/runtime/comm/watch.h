#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "backends/runtime/comm/blame.h"
#include "backends/runtime/comm/comm.h"
#include "backends/runtime/comm/transport.h"

namespace orch::train {

// A collective whose end nobody waits for on the host (NCCL's): the watch looks after it, from
// before it is launched, which opens the connection the first time.
class Followed {
 public:
  Followed(Entered what, std::chrono::steady_clock::time_point deadline)
      : what_(std::move(what)), deadline_(deadline) {}

  const Entered& what() const { return what_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  Entered told() const;
  void wait() { is_waited_ = true; }

  void launched(std::function<Progress()> look, std::function<void()> ended);
  Progress look();  // tells `ended` when it is done

 private:
  const Entered what_;
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> is_waited_ = false;
  std::mutex mutex_;
  std::function<Progress()> look_;
  std::function<void()> ended_;
};

// A thread beside training that speaks with those of the other ranks through the store. When one
// rank notices a failure, the others answer for theirs even while these are stuck in a collective;
// who does not answer is to blame. The first to notice asks; all get the same verdict.
//
// A process whose other threads are stuck for good (in a driver, or in a call to a store whose host
// is stopped) is ended by a second thread, which calls nothing that could hold it.
class Watch {
 public:
  // store: a connection of its own, since a call may be stuck in it. abort: ends what is under way.
  Watch(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
        const Whereabouts& rank0, std::function<void()> abort);
  ~Watch();

  void enter(const Entered& what);  // from now on is_inside
  void wait(const Entered& what);   // from now on is_waited
  void leave(const Entered& what);
  void follow(std::shared_ptr<Followed> followed);

  bool is_alarmed() const;  // somebody has noticed a failure
  // Who is to blame for the failure of `here`. Takes at most six seconds.
  std::string find_missing(const Entered& here);
  void announce(const std::string& why) noexcept;
  // Says that this rank leaves, and stays so long for the others to leave too (after a failure: to
  // have heard the verdict).
  void leave_with_others(std::chrono::milliseconds within);

 private:
  class Thread;
  std::string of_host(const Entered& here) const;

  const WorldOptions options_;
  const Whereabouts rank0_;
  std::shared_ptr<Thread> state_;
  std::future<void> ended_;
  std::thread thread_, guard_;
};

}  // namespace orch::train
