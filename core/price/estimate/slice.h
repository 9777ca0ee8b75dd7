#pragma once

#include "core/price/backend/work.h"

namespace orch::estimate {

// The work of one rank of a stage when it runs alone, as if the others answered at once: no
// collective, no message, no communicator, no bubble. The work must have names.
backend::Work slice_of(const backend::Work& work, std::int64_t stage);

// The smallest number of micro-batches with which every stage uses as much memory as with all of
// them (at least two, if there are that many): a slice then fills memory as the run does.
std::int64_t enough_micro_batches(const backend::Work& work);

}  // namespace orch::estimate
