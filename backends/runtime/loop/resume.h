#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "backends/runtime/comm/comm.h"
#include "core/train/checkpoint/checkpoint.h"

namespace orch::train {

// Until is_busy() of no rank is true. Whoever worked alone would keep the others in a collective
// until that counts as stuck.
void wait_while(World& world, const std::function<bool()>& is_busy);

// The first rank looks, which may read every byte of it for hours; the others open what it found.
// Ranks whose file systems differ would each train on without a message. None if there is no
// checkpoint; throws Failed if there are some and none can be read, with `otherwise` as the next
// step.
std::optional<checkpoint::Reader> find_checkpoint(World& world,
                                                  std::function<checkpoint::Latest()> look,
                                                  std::string_view otherwise);

}  // namespace orch::train
