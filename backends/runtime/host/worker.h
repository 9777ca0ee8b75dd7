#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace orch::train {

// A thread that does what it is given, in order, while who gave it goes on.
class Worker {
 public:
  using Ticket = std::uint64_t;  // of what was never given: 0, which is done

  Worker() = default;
  ~Worker();  // what has not begun is not done

  Ticket post(std::function<void()> job);
  bool is_done(Ticket ticket) const;
  // Throws what a job has thrown; those behind it are not done.
  void wait(Ticket ticket);

 private:
  void live();

  mutable std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::function<void()>> jobs_;
  Ticket posted_ = 0, finished_ = 0;
  std::exception_ptr failure_;
  bool is_over_ = false;
  std::thread thread_;  // since the first job
};

}  // namespace orch::train
