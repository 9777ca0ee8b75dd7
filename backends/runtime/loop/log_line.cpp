#include "backends/runtime/loop/log_line.h"

#include <fmt/format.h>

namespace orch::train {

std::string log_line(const LogLine& from) {
  return fmt::format(
      " iteration {:8}/{:8} | consumed samples: {:12} | consumed tokens: {:12} | "
      "elapsed time per iteration (s): {:.3f} | learning rate: {:.3E} | global batch size: {:5} | "
      "lm loss: {:.6E} | loss scale: {:.1f} | grad norm: {:.3f} | "
      "number of skipped iterations: {:3} | number of nan iterations: {:3} | TFLOPs: {:.2f} |",
      from.step, from.steps, from.consumed_samples, from.consumed_tokens, from.step_seconds,
      from.learning_rate, from.global_batch, from.loss, from.loss_scale, from.gradient_norm,
      from.skipped, from.nans, from.tflops);
}

double megatron_flops(const ModelConfig& model, std::int64_t global_batch, bool recompute) {
  const auto batch = static_cast<double>(global_batch), s = static_cast<double>(model.seq),
             layers = static_cast<double>(model.layers), h = static_cast<double>(model.hidden),
             vocab = static_cast<double>(model.padded_vocab());
  return 24 * batch * s * layers * h * h * (recompute ? 4 : 3) *
         (1 + s / (6 * h) + vocab / (16 * layers * h));
}

}  // namespace orch::train
