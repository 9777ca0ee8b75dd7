#pragma once

#include "backends/megatron/setup.h"

namespace orch::megatron {

// What is wrong with how weights, gradients, the optimizer and activations are kept.
void check_kept(const backend::RunView& run, const Setup& setup, backend::Problems& problems);

}  // namespace orch::megatron
