#pragma once

#include "core/run/follow/options.h"

namespace orch::follow {

// Returns early when the user presses Ctrl-C.
void sleep(const FollowEnvironment& world, double seconds);

// Waits 1, 2, 4, … up to 60 seconds between tries, until the patience is used up.
class Backoff {
 public:
  Backoff(Clock& clock, double patience_seconds)
      : clock_(clock), began_(clock.steady()), patience_(patience_seconds) {}

  // False when the patience is used up, or the user pressed Ctrl-C.
  bool wait(const FollowEnvironment& world);

 private:
  Clock& clock_;
  double began_;
  double patience_;
  double delay_ = 1;
};

// The interval between polls: short after a change, longer the longer nothing happens, and never so
// short that polling itself becomes a load.
class PollInterval {
 public:
  struct Limits {
    double least = 1;
    double most = 30;
  };
  explicit PollInterval(Limits limits) : limits_(limits), delay_(limits.least) {}

  // The time to the next poll. changed: something changed in the last poll, which took
  // poll_seconds.
  double next(bool changed, double poll_seconds);
  void set(Limits limits) { limits_ = limits; }

 private:
  Limits limits_;
  double delay_;
  double last_poll_ = 0;
};

}  // namespace orch::follow
