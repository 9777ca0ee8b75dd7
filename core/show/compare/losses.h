#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace orch::compare {

// Both curves at one place, each smoothed around it.
struct LossPlace {
  double share = 0;  // of the common range: 0.1 is 10 % into it
  double at = 0;     // tokens or step; of the end, the middle of the last window
  double base = 0, other = 0;
  std::optional<double> error;  // the standard error of other - base; none: too few points
};

// A group's loss curve against the first group's.
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
  AlignmentResult why_not =
      AlignmentResult::aligned;   // why the curves cannot be laid over each other
  std::string axis;               // "tokens" or "steps"
  double from = 0, to = 0;        // the common range
  std::vector<LossPlace> places;  // at 10, 25, 50, 75 and 100 % of it
  bool noise_known = false;
  std::optional<double> apart_from;  // where they first part beyond the noise of the curves
  bool apart_at_end = false;
  struct Side {
    std::string id;           // whose curve it is
    std::string nan;          // "NaN in 50 of 100 steps, from step 51 on"; empty: never
    bool lost = false;        // no number any more at the end
    double from = 0, to = 0;  // where its curve begins and ends
    std::vector<record::Spike> spikes;
  };
  Side base, other;
};

// Whether a step has as many tokens in both: then curves without tokens align by step.
Losses compare_losses(const std::vector<const record::Record*>& base,
                      const std::vector<const record::Record*>& other, bool same_steps);

}  // namespace orch::compare
