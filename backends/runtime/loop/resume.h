#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "backends/runtime/comm/comm.h"
#include "core/train/checkpoint/checkpoint.h"

namespace orch::train {

// Returns when is_busy() is false on all ranks. Waits in short collectives: a rank that worked
// alone would keep the others in one until it counts as stuck.
void wait_while(World& world, const std::function<bool()>& is_busy);

// The first rank searches, which may take hours if it reads every byte; the others open what it
// found. Without this, ranks with different file systems would silently train from different
// states. Nothing if there is no checkpoint; throws ClassifiedFailure if there are some and none
// can be read, with `otherwise` as the next step.
std::optional<checkpoint::CheckpointReader> find_checkpoint(
    World& world, std::function<checkpoint::LatestCheckpoint()> look, std::string_view otherwise);

}  // namespace orch::train
