#pragma once

#include "core/plan/hardware/yaml.h"
#include "core/plan/cluster.h"

namespace orch::hardware {

// The `fitted` constants of a partition, whose other fields have been read: those that measured
// rows corrected, whatever software ran them. Without any, those that the partition has from the
// one it is like hold over its fields too.
void read_calibration(const Field* field, plan::Partition& partition);

// What a partition says to SLURM, over what is there already.
void read_slurm(const Field& field, plan::Slurm& slurm);

// { rows: 99, gpus: [8, 384], params: [1e9, 2e11], tokens: [2048, 16384], settings: { … } }
plan::Seen read_seen(const Field& field);

}  // namespace orch::hardware
