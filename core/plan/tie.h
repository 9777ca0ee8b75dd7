#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/plan/planned.h"

// The only rule for when two estimated times are too close to be distinguished, used by plan,
// search, page and answers.
namespace orch::plan {

// An estimated time, and what its errors have in common with those of others.
struct Timing {
  double days = 0;
  double spread = 0;              // of the logarithm: half of the 90 % range
  const void* machine = nullptr;  // everything on one machine shares its errors
  std::size_t stack = 0;          // everything run by one stack shares its errors; 0: unknown
};

Timing timing_of(const Estimate& estimate, const Partition* machine);
inline Timing timing_of(const Planned& planned) {
  return timing_of(planned.estimate, planned.run.partition);
}

// Standard deviations of the parts of a time's error (of its logarithm): common to everything on
// the machine, to everything in one stack there, and its own.
struct TimingErrors {
  double machine = 0, stack = 0, own = 0;
};
TimingErrors errors_of(const Timing& timing);

// The ratio of two times, with its 90 % range.
struct TimesAsLong {
  double value = 1, low = 1, high = 1;
  bool on_one_machine = false;  // else both ranges are added
};

// On one machine, layouts in one stack share nearly all of their errors, and different stacks share
// those of the machine, so only part of the two spreads remains in the ratio. On different
// machines, or with software that was never measured, the errors may be opposite: the spreads add
// up.
TimesAsLong times_as_long(const Timing& a, const Timing& b);

// True if 1 is within the range of their ratio.
bool may_be_equal(const Timing& a, const Timing& b);

// Times on different machines, or with different model sizes or sequence lengths, answer different
// questions. Returns the number of the question of each run: 0 for the smallest model, shortest
// sequence and first machine, and so on.
std::string machine_of(const Run& run);  // "dgx-h100/h100-80g"
std::vector<std::size_t> questions_of(const std::vector<const Run*>& runs);

// Times of models of different sizes cannot be compared. Returns the size class of each number of
// parameters: 0 for the smallest and so on; those within a tenth of the smallest of a class belong
// to it, so that shapes for one target stay together.
std::vector<std::size_t> size_classes(const std::vector<double>& params);

}  // namespace orch::plan
