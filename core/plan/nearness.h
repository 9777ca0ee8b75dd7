#pragma once

#include <string>
#include <vector>

#include "core/plan/cluster.h"
#include "core/plan/run.h"

namespace orch::plan {

// How many times a run is beyond what was measured; 1 inside it.
struct Distance {
  double gpus = 1, params = 1, tokens = 1, tensor = 1, micro_batches = 1;
  bool none() const {
    return gpus == 1 && params == 1 && tokens == 1 && tensor == 1 && micro_batches == 1;
  }
  // What it adds to the spread of a time: a standard deviation of the logarithm.
  double doubt() const;
};

// What a setting adds to the spread that no row of the machine, or of the stack, had. Assumed.
inline constexpr double kUnseenThere = 0.05, kUnseenInStack = 0.1;

// How many times beyond the span, either way; 1 inside it or where there is none.
double times_beyond(const Seen::Span& span, double value);

// From the rows of a machine, of a stack, or the nearer of both; null: there are none.
Distance distance_of(const Run& run, const Partition& at, const Seen* machine, const Seen* stack);

// Whether rows had that setting, and none of them the run's value of it.
bool is_unseen(const Run& run, const Seen& seen, const std::string& setting);

// Over how many nodes a tensor-parallel group of the run lies.
double tensor_nodes(const Run& run, const Partition& on);

}  // namespace orch::plan
