#include "core/plan/check.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/plan/support.h"

using namespace orch;
using namespace orch::plan;

namespace {

struct CheckVerdict {
  std::vector<Error> reasons, warnings;
};

CheckVerdict check(const Run& run, const Budget& budget = {}) {
  CheckVerdict verdict;
  plan::check(run, budget, verdict.reasons, verdict.warnings);
  return verdict;
}

}  // namespace

TEST_CASE("a sound run has neither reasons nor warnings", "[plan][check]") {
  const auto verdict = check(test::run());
  CHECK(text(verdict.reasons) == "");
  CHECK(text(verdict.warnings) == "");
}

TEST_CASE("ranks must be as many as GPUs", "[plan][check]") {
  auto run = test::run();
  run.layout = {8, 7, 6};
  const auto reasons = check(run).reasons;
  CHECK(reasons.front() == Error{"gpus", "data 6 x tensor 8 x pipeline 7 = 336 ranks on 384 GPUs",
                                 "use a multiple of 56 GPUs, such as 336"});
}

TEST_CASE("GPUs must fill nodes, and the partition must have them", "[plan][check]") {
  auto run = test::run();
  run.gpus = 420;
  run.nodes = 53;
  run.layout = {4, 1, 105};
  run.batch = {1, 1, 105, {}};
  const auto reasons = check(run).reasons;
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].fact == "420 GPUs do not fill nodes of 8");
  CHECK(reasons[0].fix == "use 416 or 424");
  CHECK(reasons[1].fact == "53 nodes, but a100 has 52");

  Budget reserve;
  reserve.reserve_nodes = 5;
  CHECK(check(test::run(), reserve).reasons.front().text() ==
        "nodes: 48 nodes, but a100 has 52 less 5 held in reserve\n  use at most 376 GPUs");
}

TEST_CASE("spare nodes must be there too", "[plan][check]") {
  auto run = test::run();
  run.job.spare_nodes = 4;
  CHECK(check(run).reasons.empty());
  run.job.spare_nodes = 5;
  CHECK(check(run).reasons.front().text() ==
        "nodes: 48 nodes and 5 spare, but a100 has 52\n  use at most 376 GPUs");
}

TEST_CASE("a part of a node is a node", "[plan][check]") {
  auto run = test::run();
  run.gpus = 2;
  run.nodes = 1;
  run.layout = {1, 1, 2};
  run.batch = {1, 1, 2, {}};
  CHECK(check(run).reasons.empty());
}

TEST_CASE("the global batch must divide", "[plan][check]") {
  auto run = test::run();
  run.batch.global_batch = 2050;
  CHECK(check(run).reasons.front().fix ==
        "use a multiple of micro_batch x data_parallel = 8: 2048 or 2056");
}

// Batches of 16, 32, … with four copies of the model and micro-batches of 8: 16 does not divide.
TEST_CASE("the batch must divide at every step of the ramp-up", "[plan][check]") {
  auto run = test::run();
  run.batch = {8, 64, 2048, RampUp{16, 16, 9'765'625, false}};
  const auto verdict = check(run);
  REQUIRE(verdict.reasons.size() == 1);
  CHECK(
      verdict.reasons.front().fact ==
      "level 1 of 128, global batch 16, is not a multiple of micro_batch 8 x data_parallel 4 = 32");
  CHECK(verdict.reasons.front().fix ==
        "micro_batch = 4 divides every level; or let start and step be multiples of 32, or set "
        "fewer_nodes = true to begin on fewer nodes");
  run.batch.micro_batch = 4;
  run.batch.accumulate = 128;
  CHECK(check(run).reasons.empty());  // its own advice
  run.batch = {8, 64, 2048, RampUp{16, 16, 9'765'625, true}};
  CHECK(check(run).reasons.empty());

  run.batch.rampup = RampUp{32, 32, 9'765'625, false};
  CHECK(check(run).reasons.empty());
  run.batch.rampup = RampUp{48, 32, 9'765'625, true};
  CHECK(check(run).reasons.front().fact == "steps of 32 from 48 do not end at 2048");
}

TEST_CASE("the jobs of a ramp-up need checkpoints", "[plan][check]") {
  auto run = test::run();
  run.batch = {8, 64, 2048, RampUp{16, 16, 9'765'625, true}};
  run.training.keep_checkpoints = 0;
  const auto verdict = check(run);
  REQUIRE(verdict.reasons.size() == 1);
  CHECK(verdict.reasons.front().place == "training.keep_checkpoints");
  const auto first = phases(run).front();
  run.steps = first.samples / first.last_batch;  // ends within the first job
  CHECK(check(run).reasons.empty());
  run.steps += 1;
  CHECK(check(run).reasons.size() == 1);
  run.batch.rampup.reset();
  CHECK(check(run).reasons.empty());
}

TEST_CASE("a level of the ramp-up that forbids the micro-batch says what would do",
          "[plan][check]") {
  auto run = test::run();
  // On one rank even, batches of 32, 44, 56 … are no multiples of 8; of 4 they are.
  run.batch = {8, 64, 2048, RampUp{32, 12, 9'765'625, true}};
  const auto second = check(run).reasons;
  REQUIRE(second.size() == 1);
  CHECK(second.front().text() ==
        "batch.rampup: level 2 of 169, global batch 44, is not a multiple of micro_batch 8\n"
        "  micro_batch = 4 divides every level; or let start and step be multiples of 8");
  // No micro-batch divides 18 on 4 ranks, and 8 does not divide it on one.
  run.batch = {8, 64, 2048, RampUp{18, 10, 9'765'625, false}};
  CHECK(check(run).reasons.front().fix == "let start and step be multiples of 32");
  // The largest sizes, and prime: the answer comes at once.
  run.batch = {999'999'999'988, 1, 999'999'999'989LL * 2,
               RampUp{999'999'999'989, 999'999'999'989, 9'765'625, true}};
  CHECK(check(run).reasons.back().fix.starts_with("micro_batch = 1 divides every level"));
}

// 12 stages x micro-batches of 2 x 8 copies: full at 192, where the published run started.
TEST_CASE("a ramp-up that starts below a full pipe is unwise", "[plan][check]") {
  auto run = test::run();
  run.layout = {4, 12, 8};
  run.batch = {2, 128, 2048, RampUp{16, 16, 9'765'625, false}};
  const auto verdict = check(run);
  CHECK(verdict.reasons.empty());
  CHECK(verdict.warnings.front().fix == "start at 192");
}

TEST_CASE("heads must divide hidden", "[plan][check]") {
  auto run = test::run();
  run.model.heads = run.model.kv_heads = 100;
  CHECK(check(run).reasons.front().text() ==
        "heads: hidden 14336 does not divide into 100 heads\n  use 64 heads, or hidden = 14400");
}

TEST_CASE("a number format the GPU lacks is refused", "[plan][check]") {
  auto made = std::make_shared<Cluster>(*test::cluster());
  made->partitions.front().gpu.peaks["bf16"].value = 0;
  auto run = test::run();
  run.cluster = made;
  run.partition = &made->partitions.front();
  CHECK(
      check(run).reasons.front().text() ==
      "dtype: a100-80g cannot compute in bf16\n  use dtype = \"fp16\"; it has peaks of fp16, fp32");
}

TEST_CASE("a setting that would be ignored is refused", "[plan][check]") {
  auto run = test::run();
  run.settings.set(3, std::int64_t{4});
  CHECK(check(run).reasons.front().text() ==
        "powersgd_rank: has no effect with compression = 'none'\n"
        "  write compression = powersgd{ rank = ... }");
  run.settings.set(2, std::string("powersgd"));
  CHECK(check(run).reasons.empty());
}

TEST_CASE("all reasons come at once", "[plan][check]") {
  auto run = test::run();
  run.layout = {8, 7, 6};
  run.batch.global_batch = 2050;
  run.model.heads = run.model.kv_heads = 100;
  CHECK(check(run).reasons.size() == 3);
}
