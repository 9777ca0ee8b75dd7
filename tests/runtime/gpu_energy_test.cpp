#include "backends/runtime/host/gpu_energy.h"

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>

using orch::train::GpuEnergy;

TEST_CASE("a GPU's energy is counted from the beginning", "[runtime][energy]") {
  REQUIRE(::dlopen(ORCH_FAKE_NVML, RTLD_NOW) != nullptr);
  const GpuEnergy gpu("0000:1B:00.0");
  CHECK(gpu.id() == "GPU-0");
  CHECK(gpu.joules() == 1000);
  CHECK(gpu.joules() == 2000);
  const GpuEnergy later("0000:1B:00.0");
  CHECK(later.joules() == 1000);
}

TEST_CASE("without a GPU, or for one that is not there, no energy is counted",
          "[runtime][energy]") {
  REQUIRE(::dlopen(ORCH_FAKE_NVML, RTLD_NOW) != nullptr);
  for (const char* address : {"", "0000:99:00.0"}) {
    const GpuEnergy none(address);
    CHECK(none.id().empty());
    CHECK(none.joules() == 0);
  }
}
