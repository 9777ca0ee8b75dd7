#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace orch::compare {

// The values of both curves at one place, smoothed if there are enough points.
struct LossPlace {
  double share = 0;  // position in the common range: 0.1 is 10 % into it
  double at = 0;     // tokens or step; at the end, the centre of the last window
  double base = 0, other = 0;
  std::optional<double> error;  // standard error of other - base; empty: too few points
};

// A group's loss curve compared with the first group's.
struct Losses {
  bool present = false;  // both groups have a loss
  enum class AlignmentResult {
    aligned,
    tokens_of_one,
    no_tokens,
    no_numbers,
    nothing_in_common,
    no_curve
  };
  AlignmentResult why_not = AlignmentResult::aligned;  // why the curves cannot be aligned
  std::string axis;                                    // "tokens" or "steps"
  double from = 0, to = 0;                             // limits of the common range
  std::vector<LossPlace> places;                       // at 10, 25, 50, 75 and 100 % of it
  bool noise_known = false;
  std::optional<double> apart_from;  // where they first differ by more than the noise
  bool apart_at_end = false;
  struct Side {
    std::string id;           // of the record whose loss is used
    std::string nan;          // "NaN in 50 of 100 steps, from step 51 on"; empty: never
    bool lost = false;        // NaN at the end
    double from = 0, to = 0;  // limits of its curve
    std::vector<record::Spike> spikes;
  };
  Side base, other;
};

// same_steps: a step has the same number of tokens in both, so curves without tokens align by step.
Losses compare_losses(const std::vector<const record::Record*>& base,
                      const std::vector<const record::Record*>& other, bool same_steps);

}  // namespace orch::compare
