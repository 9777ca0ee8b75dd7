#include "backends/measure/timing.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "backends/measure/device.h"

namespace orch::measure {
namespace {

double seconds_on(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall() { return seconds_on(CLOCK_MONOTONIC); }

// Single-threaded work is measured by the thread's own CPU time, which other programs do not
// lengthen.
clockid_t clock_for(at::Device device) {
  return device.is_cpu() && at::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

// The time per call, measured over `times` calls.
double once(const std::function<void()>& call, std::int64_t times, at::Device device,
            clockid_t clock) {
  const double start = seconds_on(clock);
  for (std::int64_t i = 0; i < times; ++i) call();
  synchronize(device);
  return (seconds_on(clock) - start) / static_cast<double>(times);
}

// The lower quartile: other programs make some calls longer, and none shorter.
double usual(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Enough for the clock's resolution, and for the wait at the end to be negligible.
std::int64_t calls_per_time(double seconds, at::Device device) {
  const double wanted = device.is_cuda() ? 2e-3 : 0.5e-3;
  return std::max<std::int64_t>(1, std::llround(wanted / std::max(seconds, 1e-9)));
}

}  // namespace

double TimedDevice::mean_over_ranks(double seconds) {
  const auto sum = at::full({1}, seconds, at::TensorOptions(at::kDouble).device(device_));
  ranks_.all_reduce(sum).wait();
  return sum.item<double>() / ranks_.size();
}

double TimedDevice::own_seconds_of(const std::function<void()>& call) {
  const auto clock = clock_for(device_);
  once(call, 2, device_, clock);
  const auto times = calls_per_time(once(call, 1, device_, clock), device_);
  ranks_.barrier();
  std::vector<double> seen;
  for (const double start = wall(); seen.size() < 3 || wall() - start < seconds_;)
    seen.push_back(once(call, times, device_, clock));
  return usual(std::move(seen));
}

double TimedDevice::seconds_of(const std::function<void()>& call) {
  return mean_over_ranks(own_seconds_of(call));
}

double TimedDevice::seconds_together(const std::function<void()>& call) {
  once(call, 2, device_, CLOCK_MONOTONIC);
  const double first = mean_over_ranks(once(call, 2, device_, CLOCK_MONOTONIC));
  const auto count = std::clamp<std::int64_t>(std::llround(seconds_ / first), 5, 500);
  ranks_.barrier();
  std::vector<double> seen;
  for (std::int64_t i = 0; i < count; ++i) seen.push_back(once(call, 1, device_, CLOCK_MONOTONIC));
  return mean_over_ranks(usual(std::move(seen)));
}

}  // namespace orch::measure
