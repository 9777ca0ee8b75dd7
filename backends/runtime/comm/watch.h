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
class WatchedCollective {
 public:
  WatchedCollective(EnteredCollective what, std::chrono::steady_clock::time_point deadline)
      : what_(std::move(what)), deadline_(deadline) {}

  const EnteredCollective& what() const { return what_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  EnteredCollective told() const;
  void wait() { is_waited_ = true; }

  void launched(std::function<CollectiveProgress()> look, std::function<void()> ended);
  CollectiveProgress look();  // calls `ended` when it is done

 private:
  const EnteredCollective what_;
  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> is_waited_ = false;
  std::mutex mutex_;
  std::function<CollectiveProgress()> look_;
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
        const RankProcessId& rank0, std::function<void()> abort);
  ~Watch();

  void enter(const EnteredCollective& what);  // sets is_inside
  void wait(const EnteredCollective& what);   // sets is_waited
  void leave(const EnteredCollective& what);
  void follow(std::shared_ptr<WatchedCollective> followed);

  bool is_alarmed() const;  // a rank has noticed a failure
  // Returns which ranks are to blame for the failure of `here`. Takes at most six seconds.
  std::string find_missing(const EnteredCollective& here);
  void announce(const std::string& why) noexcept;
  // Announces that this rank leaves, and waits for the others to leave too (after a failure: until
  // they know the verdict).
  void leave_with_others(std::chrono::milliseconds within);

 private:
  class Thread;
  std::string of_host(const EnteredCollective& here) const;

  const WorldOptions options_;
  const RankProcessId rank0_;
  std::shared_ptr<Thread> state_;
  std::future<void> ended_;
  std::thread thread_, guard_;
};

}  // namespace orch::train
