#include "core/plan/hardware/hardware.h"
#include "tests/plan/hardware/toy.h"
#include "tests/test.h"

namespace orch::hardware {
namespace {

const std::string kStacks = R"(some-2022:
  doc: some framework
  date: "2022-03"
  frameworks: [some, some-lm]
  runs: [ddp, megatron/megatron]
  factors:
    gemm: { value: 0.9, origin: "fitted: 3 rows of mine" }
    step_overhead: { value: 12, origin: "fitted: 3 rows of mine" }
    time_spread: { value: 0.08, origin: "fitted: 3 rows of mine" }
  settings: { flash_attention: true }
  seen: { rows: 3, gpus: [8, 64] }
other:
  like: some-2022
  date: "2023"
  tuned: false
)";

std::string complaint_of_stacks(const std::string& from, const std::string& to) {
  const auto read = parse_stacks(toy::replaced(kStacks, from, to), "stacks.yaml");
  return read ? "" : text(read.error());
}

TEST_CASE("stacks are read with their factors and where these are from", "[hardware][stack]") {
  const auto read = parse_stacks(kStacks, "stacks.yaml");
  if (!read) FAIL(text(read.error()));
  const auto& some = *read->at("some-2022");
  CHECK(some.date == "2022-03");
  CHECK(some.frameworks == std::vector<std::string>{"some", "some-lm"});
  CHECK(some.tuned);
  CHECK(some.constants.at("step_overhead").value == 12);
  CHECK(some.settings.at("flash_attention") == "true");
  CHECK(some.seen.gpus.high == 64);
  const auto& other = *read->at("other");
  CHECK_FALSE(other.tuned);
  CHECK(other.date == "2023");
  CHECK(other.constants.at("gemm").value == 0.9);
}

TEST_CASE("a file that is read over another counts first", "[hardware][stack]") {
  const auto below = parse_stacks(kStacks, "stacks.yaml");
  REQUIRE(below);
  const auto read =
      parse_stacks("some-2022:\n  like: other\n  factors: { gemm: { value: 0.5, origin: mine } }\n",
                   "mine.yaml", *below);
  if (!read) FAIL(text(read.error()));
  CHECK(read->at("some-2022")->constants.at("gemm").value == 0.5);
  CHECK(read->at("some-2022")->file == "mine.yaml");
  CHECK(read->at("other")->constants.at("gemm").value == 0.9);
}

TEST_CASE("mistakes in stacks are named with their place", "[hardware][stack]") {
  CHECK_THAT(complaint_of_stacks("gemm:", "gem:"),
             ContainsSubstring("stacks.yaml:7: some-2022.factors.gem: no such field\n"
                               "  did you mean 'gemm'?"));
  CHECK_THAT(complaint_of_stacks("value: 0.9", "value: 900"),
             ContainsSubstring("900 is out of range"));
  CHECK_THAT(complaint_of_stacks("gemm:", "pcie.efficiency:"),  // the machine's alone
             ContainsSubstring("no such field"));
  CHECK_THAT(complaint_of_stacks("  date: \"2022-03\"\n", ""),
             ContainsSubstring("'date' is missing"));
  CHECK_THAT(complaint_of_stacks("tuned: false", "tuned: no"),
             ContainsSubstring("is not true or false"));
  CHECK_THAT(complaint_of_stacks("like: some-2022", "like: som-2022"),
             ContainsSubstring("no stack is called 'som-2022' so far"));
}

TEST_CASE("partitions know what each stack makes of them", "[hardware][stack]") {
  auto cluster = *toy::cluster(toy::kCluster);
  give_stacks(*parse_stacks(kStacks, "stacks.yaml"), cluster);
  const auto& partition = cluster.partitions[0];
  REQUIRE(partition.stacks.size() == 2);
  CHECK(partition.stacks[1].stack->name == "some-2022");
  CHECK(partition.stacks[1].partition->efficiency.gemm.value == 0.9 * 0.7);
  CHECK(partition.efficiency.gemm.value == 0.7);
}

}  // namespace
}  // namespace orch::hardware
