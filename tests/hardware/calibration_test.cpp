#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "core/hardware/hardware.h"
#include "tests/hardware/toy.h"

namespace orch::hardware {
namespace {

using Catch::Matchers::ContainsSubstring;
using toy::kCluster;
using toy::replaced;

const std::string kFitted = R"(    fitted:
      - backends: [megatron]
        gemm: { value: 0.55, origin: "fitted: 9 rows of mine" }
        stage_overhead: { value: 12 ms, origin: "fitted: 9 rows of mine" }
        network.efficiency: { value: 0.3, origin: "fitted: 9 rows of mine" }
        context_memory: { value: 1500 MiB, origin: "fitted: 9 rows of mine" }
        time_spread: { value: 0.04, origin: "fitted: 9 rows of mine" }
        eras:
          - { until: "2022-02-18", time: { value: 1.05, origin: "fitted: 9 rows of mine" } }
          - { until: "2022-02-25", time: { value: 1.02, origin: "fitted: 9 rows of mine" } }
      - backends: [ddp, zero3]
        gemm: { value: 0.25, origin: "fitted: 2 rows of mine" }
)";

// `fitted:` is line 24.
std::string calibrated(const std::string& fitted) {
  return replaced(kCluster, "    slurm:\n", fitted + "    slurm:\n");
}

std::string complaint(const std::string& from, const std::string& to) {
  const auto read = toy::cluster(calibrated(replaced(kFitted, from, to)));
  return read ? "" : text(read.error());
}

TEST_CASE("a partition without a fitted list has no calibration", "[hardware][calibration]") {
  const auto read = toy::cluster(kCluster);
  REQUIRE(read);
  CHECK(read->partitions[0].calibrations.empty());
}

TEST_CASE("fitted constants hold for their backends, beside the others",
          "[hardware][calibration]") {
  const auto read = toy::cluster(calibrated(kFitted));
  if (!read) FAIL(text(read.error()));
  const auto& partition = read->partitions[0];
  REQUIRE(partition.calibrations.size() == 2);
  const auto& first = partition.calibrations[0];
  CHECK(first.backends == std::vector<std::string>{"megatron"});
  CHECK(first.constants.size() == 5);
  CHECK(first.constants.at("gemm").origin == "fitted: 9 rows of mine");
  REQUIRE(first.eras.size() == 2);
  CHECK(first.eras[0].until == "2022-02-18");
  CHECK(first.eras[1].time.value == 1.02);

  const auto& megatron = partition.as_measured("megatron");
  CHECK(megatron.efficiency.gemm.value == 0.55);
  CHECK(megatron.efficiency.stage_overhead.value == 12e-3);
  CHECK(megatron.network.efficiency.value == 0.3);
  CHECK(megatron.gpu.context_memory.value == 1500 * 1048576.0);
  CHECK(megatron.efficiency.time_spread.value == 0.04);
  CHECK(megatron.efficiency.attention.value == 0.3);  // as the GPU has it
  CHECK(megatron.network.bandwidth.value == 25e9);
  CHECK(partition.as_measured("zero3").efficiency.gemm.value == 0.25);
  CHECK(partition.as_measured("zero3").network.efficiency.value == 0.8);
  CHECK(partition.efficiency.gemm.value == 0.7);  // the partition itself stays
  CHECK(partition.network.efficiency.value == 0.8);
  CHECK(partition.as_measured("other").efficiency.gemm.value == 0.7);
}

// What a fit says holds over what the site says, wherever in the partition the list stands.
TEST_CASE("the list may come before what it corrects", "[hardware][calibration]") {
  const auto read = toy::cluster(
      replaced(kCluster, "    gpu: toy\n",
               kFitted + "    gpu: toy\n    efficiency: { gemm: { value: 0.6, origin: here }, "
                         "memory: { value: 0.9, origin: here } }\n"));
  if (!read) FAIL(text(read.error()));
  CHECK(read->partitions[0].efficiency.gemm.value == 0.6);
  CHECK(read->partitions[0].as_measured("megatron").efficiency.gemm.value == 0.55);
  CHECK(read->partitions[0].as_measured("megatron").efficiency.memory.value == 0.9);
}

TEST_CASE("an unknown constant is named with a guess", "[hardware][calibration]") {
  CHECK(complaint("gemm:", "gem:") ==
        "toy.yaml:26: partitions[1].fitted[1].gem: no such field\n  did you mean 'gemm'?");
  // What cannot be fitted is none of its fields.
  CHECK_THAT(complaint("gemm:", "overlap:"),
             ContainsSubstring("toy.yaml:26: partitions[1].fitted[1].overlap: no such field"));
  CHECK_THAT(complaint("until:", "untill:"), ContainsSubstring("did you mean 'until'?"));
}

TEST_CASE("a fitted constant needs value, unit and origin", "[hardware][calibration]") {
  CHECK_THAT(complaint("{ value: 0.55, origin: \"fitted: 9 rows of mine\" }", "0.55"),
             ContainsSubstring("partitions[1].fitted[1].gemm: '0.55' does not say where it"));
  CHECK_THAT(complaint("value: 0.55", "value: 55"), ContainsSubstring("55 is out of range"));
  CHECK_THAT(complaint("value: 12 ms", "value: 12"), ContainsSubstring("'12' is not a time"));
  CHECK_THAT(complaint("value: 1.05", "value: 50"),
             ContainsSubstring("50 is out of range\n  give a value from 0.1 to 10"));
}

TEST_CASE("an era ends on a day", "[hardware][calibration]") {
  for (const char* bad :
       {"2022-2-18", "soon", "2022-02", "18.02.2022", "2022/02/18", "2022-02-30"}) {
    CAPTURE(bad);
    CHECK(complaint("2022-02-18", bad) == "toy.yaml:32: partitions[1].fitted[1].eras[1].until: '" +
                                              std::string(bad) +
                                              "' is not a day\n  write it like \"2022-02-25\"");
  }
}

TEST_CASE("eras follow each other", "[hardware][calibration]") {
  for (const char* day : {"2022-02-26", "2022-02-25"})
    CHECK(complaint("2022-02-18", day) ==
          "toy.yaml:33: partitions[1].fitted[1].eras[2].until: the eras are not in order\n"
          "  put the earliest first");
}

TEST_CASE("a backend is calibrated once", "[hardware][calibration]") {
  CHECK_THAT(complaint("[ddp, zero3]", "[ddp, megatron]"),
             ContainsSubstring("toy.yaml:34: partitions[1].fitted[2].backends[2]: 'megatron' has a "
                               "calibration already\n  name each backend once"));
  CHECK_THAT(complaint("[ddp, zero3]", "[ddp, ddp]"),
             ContainsSubstring("'ddp' has a calibration already"));
}

TEST_CASE("a calibration says whose it is", "[hardware][calibration]") {
  CHECK(complaint("- backends: [megatron]\n        gemm", "- gemm") ==
        "toy.yaml:25: partitions[1].fitted[1]: 'backends' is missing\n  add backends: [megatron]");
  CHECK_THAT(complaint("[megatron]", "megatron"), ContainsSubstring("where a list belongs"));
}

TEST_CASE("all problems of a fitted list come at once", "[hardware][calibration]") {
  auto bad = replaced(kFitted, "gemm:", "gem:");
  bad = replaced(bad, "12 ms", "12 m");
  bad = replaced(bad, "2022-02-25", "later");
  const auto read = toy::cluster(calibrated(bad));
  REQUIRE_FALSE(read);
  CHECK(read.error().size() == 3);
}

}  // namespace
}  // namespace orch::hardware
