#include "core/price/estimate/fit.h"

#include <catch2/catch_test_macros.hpp>

using namespace orch;
using estimate::fit_reason;
using estimate::judge_fit;
using plan::MemoryFit;

namespace fit_test {
namespace {

plan::Partition partition() {
  plan::Partition made;
  made.host_memory.value = 100e9;
  made.efficiency.tight.value = 0.9;
  return made;
}

plan::Estimate held(double peak, double high, double host = 0) {
  plan::Estimate made;
  made.usable_memory = 80e9;
  made.peak_memory = peak;
  made.memory_high = high;
  made.host_memory = host;
  return made;
}

}  // namespace

TEST_CASE("a run is tight where its range reaches over usable memory", "[estimate][fit]") {
  CHECK(judge_fit(partition(), held(60e9, 80e9)) == MemoryFit::fits);
  CHECK(judge_fit(partition(), held(60e9, 80.1e9)) == MemoryFit::tight);
  CHECK(judge_fit(partition(), held(80e9, 90e9)) == MemoryFit::tight);
  CHECK(judge_fit(partition(), held(80.1e9, 90e9)) == MemoryFit::oom);
}

TEST_CASE("a narrow range does not make a full GPU comfortable", "[estimate][fit]") {
  CHECK(judge_fit(partition(), held(71.9e9, 72e9)) == MemoryFit::fits);
  CHECK(judge_fit(partition(), held(72.1e9, 72.2e9)) == MemoryFit::tight);
}

TEST_CASE("the reason has the number", "[estimate][fit]") {
  CHECK(fit_reason(partition(), held(60e9, 70e9)).empty());
  CHECK(fit_reason(partition(), held(60e9, 82e9)) == "up to 82.0 GB of 80.0 GB on the GPU");
  CHECK(fit_reason(partition(), held(76e9, 79e9)) == "95 % of the GPU");
  CHECK(fit_reason(partition(), held(85e9, 95e9)) == "85.0 GB of 80.0 GB on the GPU");
  CHECK(fit_reason(partition(), held(10e9, 12e9, 104e9)) == "104.0 GB of 100.0 GB on the host");
}

}  // namespace fit_test
