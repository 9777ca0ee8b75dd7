#include <fmt/format.h>

#include "backends/runtime/loop/events.h"

namespace orch::train {

std::string log_line(const StepEvent& from) {
  return fmt::format(
      " iteration {:8}/{:8} | consumed samples: {:12} | consumed tokens: {:12} | "
      "elapsed time per iteration (s): {:.3f} | learning rate: {:.3E} | global batch size: {:5} | "
      "lm loss: {:.6E} | loss scale: {:.1f} | grad norm: {:.3f} | "
      "number of skipped iterations: {:3} | number of nan iterations: {:3} | TFLOPs: {:.2f} |",
      from.step, from.steps, from.samples, from.tokens, from.step_seconds, from.learning_rate,
      from.global_batch, from.loss, from.loss_scale, from.gradient_norm, from.skipped_steps, 0,
      from.tflops);
}

}  // namespace orch::train
