#pragma once

#include <string>

#include "core/record/published/row.h"
#include "core/plan/cluster.h"

namespace orch::published {

// The stack that a row ran with: as it says, or of those that are known by its framework's name the
// one nearest to its date, the newest where there is none. "": none is known by it.
std::string stack_of(const Row& row, const plan::Partition& partition);

}  // namespace orch::published
