#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/plan/planned.h"

// The one rule for when two estimated times cannot be told apart: plan, search, page and answers
// ask here.
namespace orch::plan {

// How long something is estimated to take, and who shares its errors.
struct Timing {
  double days = 0;
  double spread = 0;              // of the logarithm: half of the 90 % range
  const void* machine = nullptr;  // errors of a machine are in all that runs on it
  std::size_t stack = 0;          // those of a software in all that it runs; 0: none is known
};

Timing timing_of(const Estimate& estimate, const Partition* machine);
inline Timing timing_of(const Planned& planned) {
  return timing_of(planned.estimate, planned.run.partition);
}

// How many times as long the one takes as the other, with the 90 % range of that.
struct TimesAsLong {
  double value = 1, low = 1, high = 1;
  bool on_one_machine = false;  // else the ranges of both decide
};

// On one machine, layouts in one stack share nearly all of their errors and different software
// those of the machine, so that less of the two spreads is left in their ratio. Of different
// machines, or of software that nobody measured, the errors may be opposite: the spreads add up.
TimesAsLong times_as_long(const Timing& a, const Timing& b);

// Whether 1 is within the range of their ratio.
bool may_be_equal(const Timing& a, const Timing& b);

// Days on different machines, of different sizes or sequence lengths are answers to different
// questions. Which question each run is about: 0 for the smallest model, shortest sequence and
// first machine, and so on.
std::string machine_of(const Run& run);  // "dgx-h100/h100-80g"
std::vector<std::size_t> questions_of(const std::vector<const Run*>& runs);

// Days of models of different sizes do not compare. Which size each number of parameters is of: 0
// for the smallest and so on; those within a tenth of the smallest of them are of one size, so that
// shapes for one target stay together.
std::vector<std::size_t> size_classes(const std::vector<double>& params);

}  // namespace orch::plan
