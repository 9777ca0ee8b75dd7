#include "backends/runtime/step/run_options.h"

#include <ATen/ATen.h>

#include "backends/runtime/step/settings.h"

namespace orch::train {

at::ScalarType dtype_of(const plan::Run& run) {
  const auto name = Settings(run).text("dtype");
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  return at::kFloat;  // fp32 and tf32
}

ModelOptions model_options(const plan::Run& run, at::Device device, const TensorAxis& axis) {
  const Settings settings(run);
  ModelOptions options;
  options.config = run.model;
  options.dtype = dtype_of(run);
  options.device = device;
  options.recompute = parse_recompute(settings.text("recompute"));
  options.sdpa = settings.flag("flash_attention");
  options.dropout = run.training.dropout;
  options.attention_dropout = run.training.attention_dropout;
  options.seed = run.training.seed;
  options.axis = axis;
  return options;
}

void set_precision(const plan::Run& run) {
  at::globalContext().setAllowTF32CuBLAS(Settings(run).text("dtype") == "tf32");
}

}  // namespace orch::train
