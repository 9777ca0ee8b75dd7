#pragma once

#include "backends/runtime/model/options.h"
#include "core/plan/run.h"

namespace orch::train {

// What a run says of its model and of how to compute it; from settings that every strategy has.
at::ScalarType dtype_of(const plan::Run& run);  // of the products
ModelOptions model_options(const plan::Run& run, at::Device device, const TensorAxis& axis = {});

// Sets what LibTorch keeps for the whole process.
void set_precision(const plan::Run& run);

}  // namespace orch::train
