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

// Threads for work on host memory, beside LibTorch's: soon after the last of it they sleep, so that
// they take no core from the thread that launches kernels.
class HostPool {
 public:
  explicit HostPool(int threads);  // the caller of run() is one of them
  ~HostPool();

  int size() const { return size_; }
  // [0, count), each taken by who is free: nobody waits for a thread that the system has put aside,
  // and memory that is first touched so is spread over all of the host's. Returns when all are
  // done, and throws what the first of them that failed threw. Any thread may call it.
  using Work = std::function<void(std::int64_t index)>;
  void run(std::int64_t count, const Work& work);

 private:
  void live();
  void take_some();
  bool await_round(std::int64_t seen);  // false: it is over

  const int size_;
  std::mutex callers_;  // one at a time
  // Of the present round; they stay while some of it is taken and not done.
  const Work* work_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> left_ = 0,
                            done_ = 0;  // not taken (or below zero: asked for in vain), done
  std::atomic<std::int64_t> round_ = 0;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable begun_;
  int asleep_ = 0;
  std::exception_ptr failure_;  // the first of a round
  std::vector<std::thread> others_;
};

// This rank's, a thread for each of its cores: memory is as fast as the cores that ask for it, and
// who launches kernels mostly waits meanwhile.
HostPool& host_pool();

}  // namespace orch::train
