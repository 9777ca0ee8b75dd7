#pragma once

#include <string>
#include <vector>

#include "core/plan/cluster.h"
#include "core/plan/run.h"

namespace orch::plan {

// By what factor a run is beyond what was measured; 1 inside it.
struct Distance {
  double gpus = 1, params = 1, tokens = 1, tensor = 1, micro_batches = 1;
  bool none() const {
    return gpus == 1 && params == 1 && tokens == 1 && tensor == 1 && micro_batches == 1;
  }
  // What the distance adds to the spread of a time: a standard deviation of the logarithm.
  double doubt() const;
};

// What a setting adds to the spread if no row of the machine, or of the stack, had its value.
// Assumed.
inline constexpr double kUnseenThere = 0.05, kUnseenInStack = 0.1;

// The factor by which a value is outside the span, in either direction; 1 inside it or without a
// span.
double times_beyond(const SeenRanges::Span& span, double value);

// The distance from the rows of a machine, of a stack, or the smaller of both; null: no rows.
Distance distance_of(const Run& run, const Partition& at, const SeenRanges* machine,
                     const SeenRanges* stack);

// True if rows had that setting, but none of them the run's value.
bool is_unseen(const Run& run, const SeenRanges& seen, const std::string& setting);

// The number of nodes that a tensor-parallel group of the run spans.
double tensor_nodes(const Run& run, const Partition& on);

}  // namespace orch::plan
