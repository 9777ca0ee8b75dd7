#include "core/plan/run.h"

#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

TEST_CASE("the label names what differs", "[plan][run]") {
  auto run = test::run();
  CHECK(label(run) == "m-megatron-384gpu-tp8-pp12-dp4-mb2");
  run.settings.set(2, std::string("powersgd"));
  run.settings.set(3, std::int64_t{4});
  CHECK(variant(run) == "compression=powersgd powersgd_rank=4");
  CHECK(label(run) == "m-megatron-384gpu-tp8-pp12-dp4-mb2-powersgd-powersgd_rank4");
  run.model.name = std::string(200, 'x');
  CHECK((label(run) + "-12345678").size() == 100);
}

// --rampup-batch-size 16 16 9_765_625 up to 2048: 127 increments.
TEST_CASE("a ramp-up has as many steps as increments, and they share its samples", "[plan][run]") {
  const Batch batch{2, 256, 2048, RampUp{16, 16, 9'765'625, false}};
  const auto steps = ramp_steps(batch);
  REQUIRE(steps.size() == 127);
  CHECK(steps.front().global_batch == 16);
  CHECK(steps.back().global_batch == 2032);
  CHECK(steps.front().samples == 9'765'625 / 127.0);
}

TEST_CASE("without fewer nodes a ramp-up is one phase", "[plan][run]") {
  auto run = test::run();
  run.batch.rampup = RampUp{64, 64, 1'000'000, false};
  const auto stretches = phases(run);
  REQUIRE(stretches.size() == 1);
  CHECK(stretches[0].first_batch == 64);
  CHECK(stretches[0].last_batch == 2048);
  CHECK(stretches[0].nodes == 48);
}

// The published 1.3B: one replica per GPU, micro-batch 1; batch 32 on 8 nodes of 4, and 64 on 16.
TEST_CASE("small batches begin on the nodes that divide them", "[plan][run]") {
  auto made = std::make_shared<Cluster>(*test::cluster());
  made->partitions.front().gpus_per_node = 4;
  auto run = test::run();
  run.cluster = made;
  run.partition = &made->partitions.front();
  run.gpus = 64;
  run.nodes = 16;
  run.layout = {1, 1, 64};
  run.batch = {1, 1, 64, RampUp{32, 32, 32'000, true}};
  const auto stretches = phases(run);
  REQUIRE(stretches.size() == 2);
  CHECK(stretches[0].nodes == 8);
  CHECK(stretches[1].nodes == 16);
  CHECK(stretches[0].samples == 32'000);
}

// 96 divides by 32 but not by 64: a run that begins on fewer nodes stays there until all can be
// used.
TEST_CASE("nodes never shrink on the way up", "[plan][run]") {
  auto run = test::run();
  run.gpus = 128;
  run.nodes = 16;
  run.layout = {1, 1, 128};
  run.batch = {1, 4, 512, RampUp{32, 32, 1000, true}};
  const auto stretches = phases(run);
  REQUIRE(stretches.size() == 2);
  CHECK(stretches[0].data_parallel == 32);
  CHECK(stretches[0].last_batch == 480);
  CHECK(stretches[1].data_parallel == 128);
}

// 8 on one node, 16 on two, 24 on three: 16 does not divide 24, and need not.
TEST_CASE("a ramp-up may be cut into as many phases as asked for", "[plan][run]") {
  auto run = test::run();
  run.gpus = 24;
  run.nodes = 3;
  run.layout = {1, 1, 24};
  run.batch = {1, 1, 24, RampUp{8, 8, 1600, true, 3}};
  const auto stretches = phases(run);
  REQUIRE(stretches.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(stretches[i].nodes == static_cast<std::int64_t>(i + 1));
    CHECK(stretches[i].first_batch == static_cast<std::int64_t>(8 * (i + 1)));
    CHECK(stretches[i].last_batch == stretches[i].first_batch);
  }
  CHECK(stretches[0].samples == 800);
  run.batch.rampup->phases = 2;
  CHECK(phases(run).size() == 2);
}

// By hand: of 32, 64, ..., 512 on up to 128 ranks, in whole nodes of 8. In three phases most
// samples get most ranks when 32 to 352 have 32, 384 to 480 ... no two neighbours of those share
// more than 32, so one batch alone can have more: the largest below 128 is 480 with 120.
TEST_CASE("the cut gives as many samples as possible as many ranks as possible", "[plan][run]") {
  auto run = test::run();
  run.gpus = 128;
  run.nodes = 16;
  run.layout = {1, 1, 128};
  run.batch = {1, 4, 512, RampUp{32, 32, 1500, true, 3}};
  const auto stretches = phases(run);
  REQUIRE(stretches.size() == 3);
  CHECK(stretches[0].data_parallel == 32);
  CHECK(stretches[0].last_batch == 448);
  CHECK(stretches[1].data_parallel == 120);
  CHECK(stretches[1].first_batch == 480);
  CHECK(stretches[2].data_parallel == 128);
}

TEST_CASE("the phases' samples are all of them", "[plan][run]") {
  auto run = test::run();
  run.layout = {8, 6, 8};
  run.batch = {2, 128, 2048, RampUp{192, 64, 9'765'625, true}};  // 29 steps, none an integer
  run.tokens = 2048.0 * 20'000'000;
  std::int64_t samples = 0;
  for (const auto& phase : phases(run)) samples += phase.samples;
  CHECK(samples == 20'000'000);
}

namespace {

Run ramp(std::int64_t start, std::int64_t step, std::int64_t samples, std::int64_t full) {
  Run run;
  run.model.seq = 100;
  run.batch.global_batch = full;
  run.batch.rampup = RampUp{start, step, samples};
  return run;
}

}  // namespace

// By hand: three increments, 100 samples at each batch of 4, 6 and 8.
TEST_CASE("the batch grows by equal shares of the ramp-up's samples", "[plan][run]") {
  const auto run = ramp(4, 2, 300, 10);
  CHECK(run.batch_at(0) == 4);
  CHECK(run.batch_at(99) == 4);
  CHECK(run.batch_at(100) == 6);
  CHECK(run.batch_at(199) == 6);
  CHECK(run.batch_at(200) == 8);
  CHECK(run.batch_at(299) == 8);
  CHECK(run.batch_at(300) == 10);
  CHECK(run.batch_at(1'000'000) == 10);
  CHECK(ramp(4, 2, 0, 10).batch_at(0) == 10);
  CHECK(ramp(4, 2, 100'000'000'000, 2'000'004).batch_at(99'999'999'999) == 2'000'002);
}

// By hand: 25 steps of 4 (to 100), 17 of 6 (to 202), 13 of 8 (to 306), then tens.
TEST_CASE("all steps of a run follow from its tokens and ramp-up", "[plan][run]") {
  auto run = ramp(4, 2, 300, 10);
  run.tokens = 306 * 100;
  CHECK(run.total_steps() == 55);
  run.tokens = 306 * 100 + 1;
  CHECK(run.total_steps() == 56);
  run.tokens = 1000 * 100;  // 694 samples left
  CHECK(run.total_steps() == 55 + 70);
  run.tokens = 50 * 100;  // within the ramp-up: 13 steps of 4
  CHECK(run.total_steps() == 13);
  run.batch.rampup.reset();
  CHECK(run.total_steps() == 5);
  run.steps = 7;
  CHECK(run.total_steps() == 7);
}

// Counted step by step, like a trainer.
TEST_CASE("steps are counted as a trainer takes them", "[plan][run]") {
  for (const auto& [start, step, samples, full] :
       {std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>{384, 384, 9'765'625,
                                                                           1536},
        {16, 16, 9'765'625, 2048},
        {8, 8, 10, 64},  // a batch is larger than its share of the samples
        {1, 1, 7, 3}}) {
    auto run = ramp(start, step, samples, full);
    run.model.seq = 2048;
    run.tokens = 300e9;
    const auto all = static_cast<std::int64_t>(std::ceil(run.samples()));
    std::int64_t count = 0;
    std::int64_t taken = 0;
    for (std::int64_t consumed = 0; consumed < all; ++count) {
      if (count % 1000 < 3) CHECK(run.samples_of(count) == consumed);
      consumed += run.batch_at(consumed);
      taken = consumed;
    }
    CHECK(run.steps_of_all_tokens() == count);
    CHECK(run.samples_of(count) == taken);
  }
}
