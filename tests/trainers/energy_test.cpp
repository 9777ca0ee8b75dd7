// Energy counters of GPUs, on the CPU with a library that stands in for NVIDIA's.
#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>

#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;

namespace {

// Joules of every step's event and of the last one; each reading of a GPU adds a kilojoule.
std::vector<double> joules(int ranks, const std::string& address, const std::string& gpus) {
  REQUIRE(::dlopen(ORCH_FAKE_NVML, RTLD_NOW) != nullptr);
  auto json = small_run(ranks);
  json["steps"] = 3;
  TrainerRun run(json);
  AttemptOptions options;
  options.environment = {{"ORCH_TEST_GPU", address}, {"FAKE_GPUS", gpus}};
  const auto attempt = run.attempt(options);
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  std::vector<double> out;
  for (const auto& event : attempt.events())
    if (event.contains("joules")) out.push_back(event["joules"].get<double>());
  return out;
}

}  // namespace

TEST_CASE("a trainer's energy is that of its GPUs, each counted once", "[train][energy]") {
  CHECK(joules(1, "0000:1B:00.0", "1") == std::vector<double>{1000, 2000, 3000, 4000});
  CHECK(joules(2, "0000:1B:00.0", "2") == std::vector<double>{2000, 4000, 6000, 8000});
  CHECK(joules(2, "0000:1B:00.0", "1") == std::vector<double>{1000, 2000, 3000, 4000});
  CHECK(joules(2, "", "1").empty());
}
