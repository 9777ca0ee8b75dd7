#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace orch::train {

// Threads for work on host memory, in addition to LibTorch's: they sleep soon after the last of it,
// so that they take no core from the thread that launches kernels.
class HostPool {
 public:
  explicit HostPool(int threads);  // including the caller of run()
  ~HostPool();

  int size() const { return size_; }
  // Indices [0, count), each taken by the next free thread: so no thread waits for a preempted one,
  // and memory that is first touched this way is spread over all of the host's. Returns when all
  // are done, and rethrows the first exception. Thread-safe.
  using Work = std::function<void(std::int64_t index)>;
  void run(std::int64_t count, const Work& work);

 private:
  void live();
  void take_some();
  bool await_round(std::int64_t seen);  // false: the pool ends

  const int size_;
  std::mutex callers_;  // lets callers in one at a time
  // State of the present round; valid while some of it is taken and not done.
  const Work* work_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> left_ = 0,
                            done_ = 0;  // indices not yet taken (below zero: none), and done
  std::atomic<std::int64_t> round_ = 0;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable begun_;
  int asleep_ = 0;
  std::exception_ptr failure_;  // the first exception of a round
  std::vector<std::thread> others_;
};

// This rank's pool, with a thread for each of its cores: memory bandwidth needs all cores, and the
// thread that launches kernels mostly waits meanwhile.
HostPool& host_pool();

}  // namespace orch::train
