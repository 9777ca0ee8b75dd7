#pragma once

#include "backends/runtime/comm/comm.h"
#include "backends/runtime/model/options.h"
#include "backends/runtime/model/parameters.h"
#include "core/plan/run.h"

namespace orch::train {

// What a run says of its model and of how to compute it; from settings that every strategy has.
at::ScalarType dtype_of(const plan::Run& run);  // of the products
ModelOptions model_options(const plan::Run& run, at::Device device, const TensorAxis& axis = {});

// Before what is to be on the host is taken: throws Failed("host_memory") where there is no room
// for all ranks of a machine. All ranks call it, and go on together.
void require_host_memory(const ParameterOptions& options, const plan::Run& run, World& world);

// Sets what LibTorch keeps for the whole process.
void set_precision(const plan::Run& run);

}  // namespace orch::train
