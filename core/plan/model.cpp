#include "core/plan/model.h"

#include "core/base/units.h"

namespace orch::plan {

double simple_flops(double params, double tokens, bool recompute) {
  return (recompute ? 8 : 6) * params * tokens;
}

double megatron_flops(const Model& model, double global_batch, bool recompute) {
  const auto tokens = global_batch * static_cast<double>(model.seq);
  const auto logits = 1.5 * static_cast<double>(model.hidden) * static_cast<double>(model.vocab);
  return (recompute ? 4 : 3) * tokens *
         (static_cast<double>(model.layers) * model.layer_flops() + logits);
}

double days_to_train(double params, double tokens, double gpus, double tflops, bool recompute) {
  return simple_flops(params, tokens, recompute) / (gpus * tflops * 1e12) / kDay;
}

double gpu_hours_to_train(double params, double tokens, double tflops, bool recompute) {
  return simple_flops(params, tokens, recompute) / (tflops * 1e12) / 3600;
}

}  // namespace orch::plan
