#pragma once

#include "backends/megatron/setup.h"

namespace orch::megatron {

// Checks how weights, gradients, the optimizer and activations are stored.
void check_kept(const backend::RunView& run, const Setup& setup, backend::Problems& problems);

}  // namespace orch::megatron
