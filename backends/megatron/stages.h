#pragma once

#include <vector>

#include "backends/runtime/model/stage.h"
#include "core/plan/run.h"

namespace orch::megatron {

// The parts of the model in a stage's chunks.
std::vector<train::LayerSpan> spans_of(const plan::Run& run, std::int64_t stage);

// Their parameters, in the order in which backward completes gradients: the last chunk first. The
// word embedding is last.
std::vector<train::ParameterSpec> specs_of(const plan::Run& run, std::int64_t stage);

}  // namespace orch::megatron
