#include "core/base/clock.h"

#include <time.h>

#include <cmath>

namespace orch {
namespace {

double read(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double SystemClock::now() const { return read(CLOCK_REALTIME); }

double SystemClock::steady() const { return read(CLOCK_MONOTONIC); }

void SystemClock::sleep(double seconds) {
  if (!(seconds > 0)) return;
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>(1e9 * (seconds - std::floor(seconds)));
  ::nanosleep(&time, nullptr);
}

}  // namespace orch
