#include "core/plan/expectation.h"

namespace orch::plan {

const std::vector<std::string>& expected_quantities() {
  static const std::vector<std::string> kNames{
      "step_seconds",   "tokens_per_second", "days_per_100b_tokens",
      "tflops_per_gpu", "peak_memory_bytes", "host_memory_bytes",
      "gpu_hours",      "last_loss"};
  return kNames;
}

}  // namespace orch::plan
