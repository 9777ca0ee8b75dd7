#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/statistics/interval.h"

namespace orch::statistics {

// The measured time of a step.
struct TimedStep {
  std::int64_t step = 0;
  double seconds = 0;
  bool first = false;  // the first after a start: of a log, an attempt, a resume
};

// The steps that are used.
struct StepWindow {
  std::int64_t first = 0, last = 0;  // steps
  std::size_t used = 0;
  std::size_t warmup = 0;  // number of steps dropped
  std::string rule;        // "step 1 dropped (first after a start); 49 steps used: 2 to 50"
};

struct OutlierStep {
  std::int64_t step = 0;
  double seconds = 0;
  double factor = 1;  // relative to the median
};

struct StepTimes {
  Interval seconds;  // the median
  StepWindow window;
  std::vector<OutlierStep> odd;  // outliers, |x - median| > 5 spreads and 5 %, the worst ones first
  std::size_t odd_count = 0;     // total number; odd has the first 20
  std::vector<std::int64_t> dropped;  // steps of the warm-up
};

// The rule: the first step after every start is dropped if there are others (it compiles, allocates
// and connects); so are the steps right after it as long as each is slower than the median of the
// later half of that start's steps by 5 spreads and 5 %. At least half of a start's steps are kept,
// unless it has only one. Outliers stay in the window, because the median tolerates them, and they
// are reported. Steps whose seconds are not positive and finite are left out. The steps must be in
// the order of measurement.
StepTimes step_times(const std::vector<TimedStep>& steps);

// Indices of the values of nodes (or ranks) that are outside median +- 5 spreads and 3 %. Fewer
// than four values have no outliers.
std::vector<std::size_t> outliers(const std::vector<double>& values, double least_share = 0.03);

}  // namespace orch::statistics
