#include "backends/runtime/host/pool.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

namespace orch::train {

HostPool::HostPool(int threads) {
  for (std::int64_t i = 0; i < threads && threads > 1; ++i)
    threads_.emplace_back([this, i] { live(i); });
}

HostPool::~HostPool() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  begun_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void HostPool::run(std::int64_t count, const Work& work) {
  if (threads_.empty()) return work(0, count);
  const std::lock_guard one(callers_);
  std::unique_lock lock(mutex_);
  work_ = &work;
  count_ = count;
  left_ = static_cast<std::int64_t>(threads_.size());
  ++round_;
  begun_.notify_all();
  done_.wait(lock, [&] { return left_ == 0; });
}

// Slices of one piece of work follow each other closely: to fall asleep and wake up takes longer.
void HostPool::await_round(std::int64_t seen) const {
  constexpr std::chrono::microseconds kAwake{100};
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (round_ == seen && !is_over_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

void HostPool::live(std::int64_t index) {
  std::int64_t seen = 0;
  for (;;) {
    await_round(seen);
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return is_over_ || round_ != seen; });
    if (is_over_) return;
    seen = round_;
    const auto& work = *work_;
    const auto count = count_, all = static_cast<std::int64_t>(threads_.size());
    lock.unlock();
    const auto begin = count * index / all, end = count * (index + 1) / all;
    if (begin < end) work(begin, end);
    lock.lock();
    if (--left_ == 0) done_.notify_one();
  }
}

HostPool& host_pool() {
  static HostPool pool(at::get_num_threads());
  return pool;
}

}  // namespace orch::train
