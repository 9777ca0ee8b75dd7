#pragma once

#include "core/plan/hardware/yaml.h"
#include "core/plan/cluster.h"

namespace orch::hardware {

// What a partition says to SLURM, over what is there already.
void read_slurm(const Field& field, plan::Slurm& slurm);

}  // namespace orch::hardware
