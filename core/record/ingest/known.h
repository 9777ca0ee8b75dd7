#pragma once

#include "core/record/ingest/ingest.h"
#include "core/record/ingest/run.h"

namespace orch::ingest {

// What is known besides a log, as settings of that weight. Names that patterns do not have are of
// tables alone.
Settings settings_of(const Known& known, int weight);

}  // namespace orch::ingest
