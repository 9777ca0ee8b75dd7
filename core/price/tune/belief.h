#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan/tie.h"

// Which run to measure next, and when to stop. The estimates and their ranges are the prior; errors
// are shared by everything on a machine and by everything in one stack (core/plan/tie.h), and
// nearly so by layouts that are alike, so that every measurement corrects all estimates.
namespace orch::tune {

// A run that may be the fastest. All candidates do the same work, so their times can be compared.
struct TuneCandidate {
  plan::Timing timing;        // its estimate, in any unit of time
  std::vector<double> place;  // of its layout and settings, see places_of()
};

struct MeasuredTime {
  std::size_t candidate = 0;
  double time = 0;
};

// What is expected of a candidate, with a 90 % range.
struct BelievedTime {
  double time = 0, low = 0, high = 0;
  double chance = 0;  // of being the fastest
  double regret = 0;  // its part of the expected regret
};

struct Belief {
  std::size_t best = 0;  // the fastest as far as is known
  double regret = 0;     // how much longer the best is expected to take than the fastest
  std::optional<std::size_t>
      next;  // the best if not measured, else the most promising; none: all are
  std::vector<BelievedTime> times;  // of all candidates
};

// At least one candidate; some may have been measured, one several times.
Belief believe(const std::vector<TuneCandidate>& candidates,
               const std::vector<MeasuredTime>& measured);

// When to stop measuring.
struct TuneLimits {
  double regret = 0.02;      // expected, as a share of the time
  std::size_t measured = 8;  // number of runs
};

// True if the best is known well enough. How far estimates are off here only shows when at least
// three runs are measured.
bool is_known(const Belief& belief, const std::vector<MeasuredTime>& measured,
              const TuneLimits& limits);

// The places of runs: doublings of the numbers of their layouts and settings; settings that are not
// numbers, and strategies, are a coordinate for each of their values.
std::vector<std::vector<double>> places_of(const std::vector<const plan::Run*>& runs);

}  // namespace orch::tune
