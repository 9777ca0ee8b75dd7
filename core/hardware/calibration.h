#pragma once

#include "core/hardware/yaml.h"
#include "core/plan/cluster.h"

namespace orch::hardware {

// The `fitted` list of a partition, whose other fields have been read: each entry names the
// backends it holds for and the constants that measured rows corrected.
void read_calibrations(const Field& field, plan::Partition& partition);

}  // namespace orch::hardware
