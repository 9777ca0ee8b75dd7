#include "backends/runtime/step/run_options.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "backends/runtime/host/memory.h"
#include "backends/runtime/step/settings.h"
#include "core/plan/check.h"

namespace orch::train {

at::ScalarType dtype_of(const plan::Run& run) {
  const auto name = plan::common_settings.dtype(run);
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  return at::kFloat;  // fp32 and tf32
}

ModelOptions model_options(const plan::Run& run, at::Device device, const TensorAxis& axis) {
  if (const auto reason = plan::cannot_train(run); !reason.empty())
    throw std::invalid_argument(reason);
  ModelOptions options;
  options.config = run.model;
  options.dtype = dtype_of(run);
  options.device = device;
  options.recompute = parse_recompute(plan::common_settings.recompute(run));
  options.sdpa = plan::common_settings.flash_attention(run);
  options.dropout = run.training.dropout;
  options.attention_dropout = run.training.attention_dropout;
  options.seed = run.training.seed;
  options.axis = axis;
  return options;
}

// Whether to wait must not depend on a rank's content: a stage may have no parameters.
void require_host_memory(const ParameterOptions& options, const plan::Run& run, World& world) {
  const bool keeps_inputs = plan::common_settings.offload_activations.or_default(run);
  if (options.on_host == 0 && !keeps_inputs) return;
  double elements = 0;
  for (std::size_t i = 0; i < std::min(options.on_host, options.owned.size()); ++i)
    elements += static_cast<double>(options.owned[i].end - options.owned[i].begin);
  // Inputs of all layers except the last.
  const auto rows = static_cast<double>(run.batch.micro_batch * run.model.seq);
  const double inputs = keeps_inputs ? static_cast<double>(run.model.layers - 1) * rows *
                                           static_cast<double>(run.model.hidden) *
                                           static_cast<double>(at::elementSize(dtype_of(run)))
                                     : 0;
  const double master = 4, moments = plan::common_settings.optimizer(run) == "adamw" ? 8 : 0;
  const double away = options.away ? 4 + static_cast<double>(at::elementSize(options.dtype)) : 0;
  const auto near = std::min<std::int64_t>(world.size(), run.partition->gpus_per_node);
  require_host_memory(inputs + elements * (master + moments + away),
                      world.is_alone() ? 1 : static_cast<int>(near));
  world.world().barrier();
}

void set_precision(const plan::Run& run) {
  at::globalContext().setAllowTF32CuBLAS(plan::common_settings.dtype(run) == "tf32");
}

}  // namespace orch::train
