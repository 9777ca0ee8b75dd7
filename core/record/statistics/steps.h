#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/statistics/interval.h"

namespace orch::statistics {

// A step as it was measured.
struct TimedStep {
  std::int64_t step = 0;
  double seconds = 0;
  bool first = false;  // the first after a start: of a log, an attempt, a resume
};

// The steps that count.
struct Window {
  std::int64_t first = 0, last = 0;  // steps
  std::size_t used = 0;
  std::size_t warmup = 0;  // steps dropped
  std::string rule;        // "step 1 dropped (first after a start); 49 steps used: 2 to 50"
};

struct OddStep {
  std::int64_t step = 0;
  double seconds = 0;
  double factor = 1;  // of the median
};

struct StepTimes {
  Interval seconds;  // the median
  Window window;
  std::vector<OddStep> odd;   // outliers by |x - median| > 5 spreads and 5 %, the worst ones first
  std::size_t odd_count = 0;  // of all; odd has the first 20
  std::vector<std::int64_t> dropped;  // steps of the warm-up
};

// The rule: the first step after every start is dropped where there are others (it compiles,
// allocates and connects); so are the steps right after it as long as each is slower than the
// median of the later half of that start's steps by 5 spreads and 5 %. At least a half of a start's
// steps stays, unless it has one only. Outliers stay in the window: the median bears them, and they
// are reported. Steps whose seconds are not positive and finite are left out. In the order in which
// they were measured.
StepTimes step_times(const std::vector<TimedStep>& steps);

// A value that each node (or rank) has: those beyond median +- 5 spreads and 3 % of it, given as
// their places. Fewer than four have no outliers.
std::vector<std::size_t> outliers(const std::vector<double>& values, double least_share = 0.03);

}  // namespace orch::statistics
