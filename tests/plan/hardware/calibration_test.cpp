#include "core/plan/hardware/hardware.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

using toy::kCluster;
using toy::replaced;

const std::string kFitted = R"(    fitted:
      gemm: { value: 0.55, origin: "fitted: 9 rows of mine" }
      stage_overhead: { value: 12 ms, origin: "fitted: 9 rows of mine" }
      network.efficiency: { value: 0.3, origin: "fitted: 9 rows of mine" }
      network.latency: { value: 9 us, origin: "fitted: 9 rows of mine" }
      context_memory: { value: 1500 MiB, origin: "fitted: 9 rows of mine" }
      time_spread: { value: 0.04, origin: "fitted: 9 rows of mine" }
      seen: { rows: 9, gpus: [8, 64], params: [1e9, 2e10], settings: { offload: [none, full] } }
      eras:
        - { until: "2022-02-18", time: { value: 1.05, origin: "fitted: 9 rows of mine" } }
        - { until: "2022-02-25", time: { value: 1.02, origin: "fitted: 9 rows of mine" } }
)";

// `fitted:` is line 24.
std::string calibrated(const std::string& fitted) {
  return replaced(kCluster, "    slurm:\n", fitted + "    slurm:\n");
}

std::string complaint_of_fit(const std::string& from, const std::string& to) {
  const auto read = toy::cluster(calibrated(replaced(kFitted, from, to)));
  return read ? "" : text(read.error());
}

TEST_CASE("a partition without a fitted block has no calibration", "[hardware][calibration]") {
  const auto read = toy::cluster(kCluster);
  REQUIRE(read);
  CHECK_FALSE(read->partitions[0].calibration);
}

TEST_CASE("fitted constants stand beside the others", "[hardware][calibration]") {
  const auto read = toy::cluster(calibrated(kFitted));
  if (!read) FAIL(text(read.error()));
  const auto& partition = read->partitions[0];
  REQUIRE(partition.calibration);
  const auto& made = *partition.calibration;
  CHECK(made.constants.size() == 6);
  CHECK(made.constants.at("gemm").origin == "fitted: 9 rows of mine");
  REQUIRE(made.eras.size() == 2);
  CHECK(made.eras[0].until == "2022-02-18");
  CHECK(made.eras[1].time.value == 1.02);
  CHECK(made.seen.rows == 9);
  CHECK(made.seen.gpus.high == 64);
  CHECK(made.seen.params.low == 1e9);
  CHECK(made.seen.tokens.high == 0);
  CHECK(made.seen.settings.at("offload") == std::vector<std::string>{"none", "full"});

  const auto& measured = partition.as_measured();
  CHECK(measured.seen.rows == 9);
  CHECK(measured.efficiency.gemm.value == 0.55);
  CHECK(measured.efficiency.stage_overhead.value == 12e-3);
  CHECK(measured.network.efficiency.value == 0.3);
  CHECK(measured.network.latency.value == 9e-6);
  CHECK(measured.gpu.context_memory.value == 1500 * 1048576.0);
  CHECK(measured.efficiency.time_spread.value == 0.04);
  CHECK(measured.efficiency.attention.value == 0.3);  // as for the GPU
  CHECK(measured.network.bandwidth.value == 25e9);
  CHECK(partition.efficiency.gemm.value == 0.7);  // the partition itself stays
  CHECK(partition.network.efficiency.value == 0.8);
}

// Fitted values override the site's own, wherever the list is in the partition.
TEST_CASE("the block may come before what it corrects", "[hardware][calibration]") {
  const auto read = toy::cluster(
      replaced(kCluster, "    gpu: toy\n",
               kFitted + "    gpu: toy\n    efficiency: { gemm: { value: 0.6, origin: here }, "
                         "memory: { value: 0.9, origin: here } }\n"));
  if (!read) FAIL(text(read.error()));
  CHECK(read->partitions[0].efficiency.gemm.value == 0.6);
  CHECK(read->partitions[0].as_measured().efficiency.gemm.value == 0.55);
  CHECK(read->partitions[0].as_measured().efficiency.memory.value == 0.9);
}

TEST_CASE("an unknown constant is named with a guess", "[hardware][calibration]") {
  CHECK(complaint_of_fit("gemm:", "gem:") ==
        "toy.yaml:25: partitions[1].fitted.gem: no such field\n  did you mean 'gemm'?");
  // Constants that cannot be fitted are unknown fields.
  CHECK_THAT(complaint_of_fit("gemm:", "tight:"),
             ContainsSubstring("toy.yaml:25: partitions[1].fitted.tight: no such field"));
  CHECK_THAT(complaint_of_fit("until:", "untill:"), ContainsSubstring("did you mean 'until'?"));
}

TEST_CASE("a fitted constant needs value, unit and origin", "[hardware][calibration]") {
  CHECK_THAT(complaint_of_fit("{ value: 0.55, origin: \"fitted: 9 rows of mine\" }", "0.55"),
             ContainsSubstring("partitions[1].fitted.gemm: '0.55' does not say where it"));
  CHECK_THAT(complaint_of_fit("value: 0.55", "value: 55"), ContainsSubstring("55 is out of range"));
  CHECK_THAT(complaint_of_fit("value: 12 ms", "value: 12"),
             ContainsSubstring("'12' is not a time"));
  CHECK_THAT(complaint_of_fit("value: 1.05", "value: 50"),
             ContainsSubstring("50 is out of range\n  give a value from 0.1 to 10"));
}

TEST_CASE("an era ends on a day", "[hardware][calibration]") {
  for (const char* bad :
       {"2022-2-18", "soon", "2022-02", "18.02.2022", "2022/02/18", "2022-02-30"}) {
    CAPTURE(bad);
    CHECK(complaint_of_fit("2022-02-18", bad) ==
          "toy.yaml:33: partitions[1].fitted.eras[1].until: '" + std::string(bad) +
              "' is not a date\n  write it like \"2022-02-25\"");
  }
}

TEST_CASE("eras follow each other", "[hardware][calibration]") {
  for (const char* day : {"2022-02-26", "2022-02-25"})
    CHECK(complaint_of_fit("2022-02-18", day) ==
          "toy.yaml:34: partitions[1].fitted.eras[2].until: the eras are not in order\n"
          "  put the earliest first");
}

TEST_CASE("what was seen has a least and a most", "[hardware][calibration]") {
  for (const char* bad : {"[64, 8]", "[8]", "8", "[a, b]", "[0, 8]"}) {
    CAPTURE(bad);
    CHECK_THAT(complaint_of_fit("[8, 64]", bad),
               ContainsSubstring("partitions[1].fitted.seen.gpus"));
  }
}

TEST_CASE("all problems of a fitted block come at once", "[hardware][calibration]") {
  auto bad = replaced(kFitted, "gemm:", "gem:");
  bad = replaced(bad, "12 ms", "12 m");
  bad = replaced(bad, "2022-02-25", "later");
  const auto read = toy::cluster(calibrated(bad));
  REQUIRE_FALSE(read);
  CHECK(read.error().size() == 3);
}

}  // namespace
}  // namespace orch::hardware
