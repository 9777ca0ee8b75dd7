#pragma once

#include "backends/megatron/setup.h"

namespace orch::megatron {

// Checks how weights, gradients, the optimizer and activations are stored.
void check_kept(const backend::BackendRun& run, const MegatronSetup& setup,
                backend::ProblemSink& problems);

}  // namespace orch::megatron
