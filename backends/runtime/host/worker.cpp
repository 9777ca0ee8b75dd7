#include "backends/runtime/host/worker.h"

#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>

namespace orch::train {
namespace {

// For tests: like the delay before each collective, but different on every rank.
void delay() {
  static const char* most = std::getenv("ORCH_TEST_JITTER_MS");
  if (!most) return;
  thread_local std::mt19937 random(std::random_device{}());
  std::this_thread::sleep_for(std::chrono::microseconds(
      std::uniform_int_distribution<long>(0, static_cast<long>(1000 * std::atof(most)))(random)));
}

}  // namespace

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  given_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Worker::Ticket Worker::post(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { live(); });
  jobs_.push_back(std::move(job));
  given_.notify_one();
  return ++posted_;
}

bool Worker::is_done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  return finished_ >= ticket;
}

void Worker::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= ticket || failure_; });
  if (failure_) std::rethrow_exception(failure_);
}

void Worker::live() {
  std::unique_lock lock(mutex_);
  for (;;) {
    given_.wait(lock, [&] { return is_over_ || !jobs_.empty(); });
    if (is_over_) return;
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    if (failure_) continue;
    lock.unlock();
    std::exception_ptr failure;
    try {
      delay();
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      failure_ = failure;
      jobs_.clear();
    } else {
      ++finished_;
    }
    done_.notify_all();
  }
}

}  // namespace orch::train
