#pragma once

#include <string>

#include "core/plan/cluster.h"
#include "core/record/record.h"

namespace orch::published {

// The stack that a row ran with: as it says, or of those that are known by its framework's name the
// one nearest to its date, the newest where there is none. "": none is known by it.
std::string stack_of(const record::Record& row, const plan::Partition& partition);

}  // namespace orch::published
