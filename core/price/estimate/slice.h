#pragma once

#include "core/price/backend/work.h"

namespace orch::estimate {

// What one rank of a stage does when it runs alone, as if the others answered at once: no
// collective, no message, no communicator, no bubble. The work was asked for with its names.
backend::Work slice_of(const backend::Work& work, std::int64_t stage);

// The fewest micro-batches with which every stage holds as much as with all of them, and more than
// one where there are more: what a slice needs to be as full as the run.
std::int64_t enough_micro_batches(const backend::Work& work);

}  // namespace orch::estimate
