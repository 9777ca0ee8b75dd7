#include "backends/runtime/loop/events.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/clock.h"

namespace orch::train {

std::string log_line(const StepEvent& from) {
  return fmt::format(
      " iteration {:8}/{:8} | consumed samples: {:12} | consumed tokens: {:12} | "
      "elapsed time per iteration (s): {:.3f} | learning rate: {:.3E} | global batch size: {:5} | "
      "lm loss: {:.6E} | loss scale: {:.1f} | grad norm: {:.3f} | "
      "number of skipped iterations: {:3} | number of nan iterations: {:3} | TFLOPs: {:.4g} |",
      from.step, from.steps, from.samples, from.tokens, from.step_seconds, from.learning_rate,
      from.global_batch, from.loss, from.loss_scale, from.gradient_norm, from.skipped_steps, 0,
      from.tflops);
}

Events::Events(const fs::path& attempt) : file_(attempt / "events.jsonl") {}

// Messages are converted to valid UTF-8; NaN and infinity become null. After an incomplete line a
// new one begins, so that only one is lost.
void Events::write(const char* event, const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json json{{"event", event}, {"time", SystemClock().now()}};
  json.update(fields);
  const auto line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!file_.write(torn_.exchange(false) ? "\n" + line : line)) torn_ = true;
}

void Events::step(const StepEvent& from) {
  nlohmann::ordered_json json{{"step", from.step},
                              {"loss", from.loss},
                              {"step_seconds", from.step_seconds},
                              {"tokens", from.tokens},
                              {"tokens_per_second", from.tokens_per_second},
                              {"peak_memory_bytes", from.peak_memory_bytes},
                              {"gradient_norm", from.gradient_norm},
                              {"learning_rate", from.learning_rate},
                              {"loss_scale", from.loss_scale},
                              {"skipped", from.skipped},
                              {"communicated_bytes", from.communicated_bytes}};
  if (from.bubble) json["bubble"] = *from.bubble;
  if (from.joules) json["joules"] = *from.joules;
  write("step", json);
}

}  // namespace orch::train
