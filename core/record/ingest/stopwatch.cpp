#include "core/record/ingest/stopwatch.h"

#include <algorithm>
#include <cmath>

namespace orch::ingest {
namespace {

constexpr double kTicks = 50;  // between two moments: the error of both is 2 % at most

}  // namespace

void Stopwatch::tell(std::int64_t step, double seconds, double tick) {
  if (!(seconds > 0) || !std::isfinite(seconds)) return;
  tick_ = std::max(tick_, tick);
  if (!begun_ || step <= from_step_ || seconds < from_) {
    begun_ = true;
    first_step_ = last_step_ = from_step_ = step;
    first_ = last_ = from_ = seconds;
    return;
  }
  if (step <= last_step_) return;
  last_step_ = step;
  last_ = seconds;
  if (seconds == from_ || seconds - from_ < kTicks * tick_) return;
  times_.add({step, (seconds - from_) / static_cast<double>(step - from_step_), false});
  from_step_ = step;
  from_ = seconds;
}

void Stopwatch::drop_from(std::int64_t step) {
  times_.drop_from(step);
  begun_ = false;
}

StepTimes Stopwatch::times() const {
  if (!times_.steps().empty() || empty() || last_ <= first_) return times_;
  StepTimes whole;
  whole.add({last_step_, (last_ - first_) / static_cast<double>(last_step_ - first_step_), false});
  return whole;
}

}  // namespace orch::ingest
