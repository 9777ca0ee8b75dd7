#pragma once

#include <cstdint>

#include "core/record/ingest/series.h"

namespace orch::ingest {

// The time of steps by when each was told: dates of lines, what a progress bar has counted. Clocks
// are coarse, so moments are joined until what lies between them is long beside a tick: to 2 %.
class Stopwatch {
 public:
  // A step was done at this moment of a clock that goes on by so much.
  void tell(std::int64_t step, double seconds, double tick);
  // The next moment is the first of another start.
  void start() { begun_ = false; }
  void drop_from(std::int64_t step);
  void clear() { *this = Stopwatch(); }

  // Times of steps, each the mean since the one before. Where no two moments are far enough apart,
  // the mean of them all.
  StepTimes times() const;
  bool empty() const { return last_step_ <= first_step_; }
  bool coarse() const { return tick_ >= 1; }

 private:
  StepTimes times_;
  std::int64_t from_step_ = 0, first_step_ = 0, last_step_ = 0;
  double from_ = 0, first_ = 0, last_ = 0, tick_ = 0;
  bool begun_ = false;
};

}  // namespace orch::ingest
