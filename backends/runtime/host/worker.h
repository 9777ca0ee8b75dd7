#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace orch::train {

// A thread that executes jobs in order while the caller continues.
class Worker {
 public:
  using Ticket = std::uint64_t;  // 0 for a job that was never given, which counts as done

  Worker() = default;
  ~Worker();  // jobs that have not begun are dropped

  Ticket post(std::function<void()> job);
  bool is_done(Ticket ticket) const;
  // Rethrows a job's exception; the jobs behind it are not executed.
  void wait(Ticket ticket);

 private:
  void live();

  mutable std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::function<void()>> jobs_;
  Ticket posted_ = 0, finished_ = 0;
  std::exception_ptr failure_;
  bool is_over_ = false;
  std::thread thread_;  // created with the first job
};

}  // namespace orch::train
