#include "core/plan/tunable.h"

#include "tests/test.h"

using namespace orch::plan;

TEST_CASE("every tunable is found by its name and points where it lives", "[plan][tunable]") {
  Partition partition;
  auto& e = partition.efficiency;
  const std::pair<const char*, Constant*> expected[] = {
      {"gemm", &e.gemm},
      {"experts", &e.experts},
      {"attention", &e.attention},
      {"attention_unaligned", &e.attention_unaligned},
      {"memory", &e.memory},
      {"layer_overhead", &e.layer_overhead},
      {"expert_floor", &e.expert_floor},
      {"host_floor", &e.host_floor},
      {"stage_overhead", &e.stage_overhead},
      {"step_overhead", &e.step_overhead},
      {"overlap", &e.overlap},
      {"gathers", &e.gathers},
      {"host", &e.host},
      {"intra_node.efficiency", &partition.intra_node.efficiency},
      {"intra_node.latency", &partition.intra_node.latency},
      {"network.efficiency", &partition.network.efficiency},
      {"network.latency", &partition.network.latency},
      {"pcie.efficiency", &partition.pcie.efficiency},
      {"context_memory", &partition.gpu.context_memory},
      {"allocator_slack", &e.allocator_slack},
      {"time_spread", &e.time_spread},
      {"memory_spread", &e.memory_spread},
  };
  std::set<std::string> named;
  for (const auto& [name, constant] : expected) {
    CAPTURE(name);
    const auto* found = find_tunable(name);
    REQUIRE(found);
    CHECK(&found->in(partition) == constant);
    named.insert(name);
  }
  for (const auto& tunable : all_tunables()) {
    CHECK(named.contains(std::string(tunable.name)));
    CHECK(tunable.min < tunable.max);
  }
  CHECK(all_tunables().size() == named.size());
}

TEST_CASE("what can be fitted is in doubt, spreads follow from the fit", "[plan][tunable]") {
  for (const auto list : {time_tunables(), memory_tunables()})
    for (const auto& tunable : list) CHECK(tunable.doubt + tunable.stack_doubt > 0);
  for (const auto* spread : {"time_spread", "memory_spread"})
    CHECK(find_tunable(spread)->doubt + find_tunable(spread)->stack_doubt == 0);
  CHECK(time_tunables().size() + memory_tunables().size() <= 20);  // not many more than a dozen
}

TEST_CASE("other names are no tunables", "[plan][tunable]") {
  for (const char* name : {"", "gem", "GEMM", "tight", "efficiency", "network"})
    CHECK(find_tunable(name) == nullptr);
}

TEST_CASE("an era ends before its day", "[plan][calibration]") {
  Calibration calibration;
  CHECK(calibration.era("2022-02-17") == 1);  // there are no eras
  calibration.eras = {{"2022-02-18", {1.05, ""}}, {"2022-02-25", {1.02, ""}}};
  CHECK(calibration.era("2021-12-31") == 1.05);
  CHECK(calibration.era("2022-02-17") == 1.05);
  CHECK(calibration.era("2022-02-18") == 1.02);
  CHECK(calibration.era("2022-02-24") == 1.02);
  CHECK(calibration.era("2022-02-25") == 1);
  CHECK(calibration.era("2023-01-01") == 1);
  CHECK(calibration.era("") == 1);
}

TEST_CASE("a month or a year is as early as it can be", "[plan][calibration]") {
  Calibration calibration;
  calibration.eras = {{"2022-02-18", {1.05, ""}}};
  CHECK(calibration.era("2022-01") == 1.05);
  CHECK(calibration.era("2022-02") == 1.05);
  CHECK(calibration.era("2022-03") == 1);
  CHECK(calibration.era("2022") == 1.05);
  CHECK(calibration.era("2023") == 1);
}

TEST_CASE("a partition is as measured where it was", "[plan][calibration]") {
  Partition partition;
  partition.efficiency.gemm.value = 0.7;
  CHECK(&partition.as_measured() == &partition);
  CHECK(partition.era("2022-02-17") == 1);
  auto tuned = std::make_shared<Partition>(partition);
  tuned->efficiency.gemm.value = 0.8;
  partition.calibration.emplace();
  partition.calibration->partition = tuned;
  partition.calibration->eras = {{"2022-02-18", {1.05, ""}}};
  CHECK(partition.as_measured().efficiency.gemm.value == 0.8);
  CHECK(partition.era("2022-02-17") == 1.05);
}
