#pragma once

#include <cstdint>
#include <string>


namespace orch::train {

struct LogLine {
  std::int64_t step = 0;
  std::int64_t steps = 0;  // of the run
  std::int64_t consumed_samples = 0;
  std::int64_t consumed_tokens = 0;
  double step_seconds = 0;
  double learning_rate = 0;
  std::int64_t global_batch = 0;
  double loss = 0;
  double loss_scale = 1;
  double gradient_norm = 0;
  std::int64_t skipped = 0;  // steps without an update since the last line
  std::int64_t nans = 0;     // steps with a loss that is not a number since then
  double tflops = 0;         // per GPU
};

// The line that Megatron-DeepSpeed writes for an iteration, so that tools for its logs read ours:
// " iteration        5/      50 | consumed samples: … | … |", without a line break.
std::string log_line(const LogLine& from);

}  // namespace orch::train
