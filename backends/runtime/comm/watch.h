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

// A collective whose end the host does not wait for (NCCL's): the watch follows it, beginning
// before its launch, which may have to open the connection.
class Followed {
 public:
  Followed(Entered what, std::chrono::steady_clock::time_point deadline)
      : what_(std::move(what)), deadline_(deadline) {}

  const Entered& what() const { return what_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  Entered told() const;
  void wait() { is_waited_ = true; }

  void launched(std::function<Progress()> look, std::function<void()> ended);
  Progress look();  // calls `ended` when it is done

 private:
  const Entered what_;
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> is_waited_ = false;
  std::mutex mutex_;
  std::function<Progress()> look_;
  std::function<void()> ended_;
};

// A thread beside training that communicates with those of the other ranks through the store. When
// one rank notices a failure, these threads answer even for ranks that are stuck in a collective;
// a rank that does not answer is to blame. The first to notice asks; all get the same verdict.
//
// If a process's other threads are stuck for good (in a driver, or in a call to a store whose host
// is stopped), a second thread ends it, which makes no call that could block.
class Watch {
 public:
  // store: a separate connection, since a call on it may block. abort: ends running collectives.
  Watch(const WorldOptions& options, c10::intrusive_ptr<c10d::Store> store,
        const Whereabouts& rank0, std::function<void()> abort);
  ~Watch();

  void enter(const Entered& what);  // sets is_inside
  void wait(const Entered& what);   // sets is_waited
  void leave(const Entered& what);
  void follow(std::shared_ptr<Followed> followed);

  bool is_alarmed() const;  // a rank has noticed a failure
  // Returns which ranks are to blame for the failure of `here`. Takes at most six seconds.
  std::string find_missing(const Entered& here);
  void announce(const std::string& why) noexcept;
  // Announces that this rank leaves, and waits for the others to leave too (after a failure: until
  // they know the verdict).
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
