#include "backends/runtime/host/pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace orch::train {

HostPool::HostPool(int threads) : size_(std::max(1, threads)) {
  for (int i = 1; i < size_; ++i) others_.emplace_back([this] { live(); });
}

HostPool::~HostPool() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  begun_.notify_all();
  for (auto& thread : others_) thread.join();
}

void HostPool::run(std::int64_t count, const Work& work) {
  const std::lock_guard one(callers_);
  work_ = &work;
  count_ = count;
  done_ = 0;
  left_ = count;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    ++round_;
    wakes = asleep_ > 0;
  }
  if (wakes) begun_.notify_all();
  take_some();
  while (done_ < count) std::this_thread::yield();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// A late thread finds no work left, or helps with the next round. An exception reaches the caller
// only when no thread uses the caller's data any more.
void HostPool::take_some() {
  for (std::int64_t left; (left = left_--) > 0; ++done_) {
    try {
      (*work_)(count_ - left);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

// Slices of one piece of work follow each other closely: sleeping and waking up would take longer.
bool HostPool::await_round(std::int64_t seen) {
  constexpr std::chrono::milliseconds kAwake{1};
  const auto until = std::chrono::steady_clock::now() + kAwake;
  const auto has_come = [&] { return round_ != seen || is_over_; };
  while (!has_come() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  if (!has_come()) {
    std::unique_lock lock(mutex_);
    ++asleep_;
    begun_.wait(lock, has_come);
    --asleep_;
  }
  return !is_over_;
}

void HostPool::live() {
  for (std::int64_t seen = 0; await_round(seen);) {
    seen = round_;
    take_some();
  }
}

HostPool& host_pool() {
  static HostPool pool(at::get_num_threads());
  return pool;
}

}  // namespace orch::train
