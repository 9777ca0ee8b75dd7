#pragma once

#include <memory>

#include "backends/runtime/step/optimizer.h"

namespace orch::train {

// What make_optimizer chooses from.
std::unique_ptr<Optimizer> make_adamw(Parameters& parameters, const OptimizerOptions& options);
std::unique_ptr<Optimizer> make_adafactor(Parameters& parameters, const OptimizerOptions& options);

}  // namespace orch::train
