#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace orch::train {

// Threads for work on host memory, beside LibTorch's: soon after the last of it they sleep, so that they
// take no core from whoever launches kernels.
class HostPool {
 public:
  explicit HostPool(int threads);  // the caller of run() is one of them
  ~HostPool();

  int size() const { return size_; }
  // [0, count) in equal parts, one for each thread, and the same one each time that count is the same:
  // memory stays near who touched it first. Returns when all are done. Any thread may call it.
  using Work = std::function<void(std::int64_t begin, std::int64_t end)>;
  void run(std::int64_t count, const Work& work);

 private:
  void live(int index);
  void do_part(int index) const;
  bool await_round(std::int64_t seen);  // false: it is over

  const int size_;
  std::mutex callers_;  // one at a time
  const Work* work_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> round_ = 0;
  std::atomic<int> left_ = 0;  // others that are still at work
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::condition_variable begun_;
  int asleep_ = 0;
  std::vector<std::thread> others_;
};

// This rank's, a thread for each of its cores: memory is as fast as the cores that ask for it, and who
// launches kernels mostly waits meanwhile.
HostPool& host_pool();

}  // namespace orch::train
