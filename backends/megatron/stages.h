#pragma once

#include <vector>

#include "backends/runtime/model/stage.h"
#include "core/plan/run.h"

namespace orch::megatron {

// What the chunks of a stage have of the model.
std::vector<train::Span> spans_of(const plan::Run& run, std::int64_t stage);

// Their parameters, in the order in which backward completes gradients: the last chunk first. Words
// come last.
std::vector<train::ParameterSpec> specs_of(const plan::Run& run, std::int64_t stage);

}  // namespace orch::megatron
