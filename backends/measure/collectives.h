#pragma once

#include "backends/measure/timing.h"

namespace orch::measure {

// {"bytes", "seconds"} of an all-reduce over all ranks, from 4 KiB to 64 MiB. Empty with one rank.
Json all_reduces(Bench& bench);

}  // namespace orch::measure
