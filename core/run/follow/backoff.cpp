#include "core/run/follow/backoff.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace orch::follow {

void sleep(const FollowEnvironment& world, double seconds) {
  const double until = world.clock->steady() + seconds;
  while (world.clock->steady() < until && !world.interrupted())
    world.clock->sleep(std::min(0.2, until - world.clock->steady()));
}

bool Backoff::wait(const FollowEnvironment& world) {
  const double left = began_ + patience_ - clock_.steady();
  if (left <= 0 || world.interrupted()) return false;
  const double delay = std::min(delay_, left);
  world.say(fmt::format("the scheduler does not answer; next try in {:.0f} s", delay));
  sleep(world, delay);
  delay_ = std::min(2 * delay_, 60.0);
  return !world.interrupted();
}

double PollInterval::next(bool changed, double poll_seconds) {
  delay_ = changed ? limits_.least : std::min(1.5 * delay_, limits_.most);
  // At most a twentieth of the time is spent on polling. The smaller of the last two poll times
  // counts: a single slow answer may come from a busy machine or from our own process being
  // stopped.
  const double cost = std::min(std::exchange(last_poll_, poll_seconds), poll_seconds);
  return std::clamp(20 * cost, delay_, std::max(delay_, 300.0));
}

}  // namespace orch::follow
