#include <ATen/ATen.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "backends/runtime/loop/events.h"
#include "backends/runtime/loop/memory.h"

using namespace orch;
using namespace orch::train;

// Widths and digits as in lines of Megatron-LM and Megatron-DeepSpeed.
TEST_CASE("the log has Megatron's iteration lines", "[runtime][log]") {
  StepEvent line;
  line.step = 5;
  line.steps = 50;
  line.samples = 5120;
  line.tokens = 10485760;
  line.step_seconds = 159.7789;
  line.learning_rate = 1.875e-5;
  line.global_batch = 1024;
  line.loss = 12.44238;
  line.loss_scale = 65536;
  line.gradient_norm = 1.2347;
  line.skipped_steps = 1;
  line.tflops = 49.536;
  CHECK(log_line(line) ==
        " iteration        5/      50 | consumed samples:         5120 | consumed tokens:     "
        "10485760 | elapsed time per iteration (s): 159.779 | learning rate: 1.875E-05 | global "
        "batch size:  1024 | lm loss: 1.244238E+01 | loss scale: 65536.0 | grad norm: 1.235 | "
        "number of skipped iterations:   1 | number of nan iterations:   0 | TFLOPs: 49.54 |");
}

TEST_CASE("a loss that is not a number can be read in the log", "[runtime][log]") {
  StepEvent line;
  line.loss = std::nan("");
  CHECK(log_line(line).find("| lm loss: NAN |") != std::string::npos);
}

TEST_CASE("the memory of this process is counted", "[runtime][memory]") {
  constexpr std::int64_t size = 256 << 20;
  const auto before = current_memory_bytes(at::kCPU);
  {
    const auto big = at::ones({size}, at::kByte);
    CHECK(current_memory_bytes(at::kCPU) - before >= size * 9 / 10);
  }
  CHECK(current_memory_bytes(at::kCPU) - before < size / 2);
  CHECK(peak_memory_bytes(at::kCPU) - before >= size * 9 / 10);
  CHECK(before > 1 << 20);
}
