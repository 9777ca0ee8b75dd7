#pragma once

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/options.h"
#include "backends/runtime/model/parameters.h"
#include "core/plan/run.h"

namespace orch::train {

// The model of a run and how to compute it, from settings that every strategy has.
at::ScalarType dtype_of(const plan::Run& run);  // of the products
ModelOptions model_options(const plan::Run& run, at::Device device, const TensorAxis& axis = {});

// Call this before host memory is allocated: throws ClassifiedFailure("host_memory") if there is no
// room for all ranks of a machine. All ranks must call it, and leave it together.
void require_host_memory(const ParameterOptions& options, const plan::Run& run, World& world);

// Sets LibTorch's process-wide options.
void set_precision(const plan::Run& run);

}  // namespace orch::train
