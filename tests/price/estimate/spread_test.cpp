#include "core/price/estimate/spread.h"

#include "core/plan/stack.h"
#include "tests/test.h"

using namespace orch;

namespace spread_test {
namespace {

plan::Estimate ranged(double time_spread, double memory_spread) {
  plan::Partition partition;
  partition.efficiency.time_spread.value = time_spread;
  partition.efficiency.memory_spread.value = memory_spread;
  plan::Estimate made;
  made.step_seconds = 100;
  made.peak_memory = 40e9;
  plan::Run run;
  estimate::add_ranges(run, partition, made);
  return made;
}

}  // namespace

// exp(1.645 * 0.1) = 1.17880, exp(1.645 * 0.2) = 1.38957.
TEST_CASE("nine of ten measurements are expected within 1.645 deviations", "[estimate][spread]") {
  const auto made = ranged(0.1, 0.2);
  CHECK(made.step_low == Approx(84.832).epsilon(1e-4));
  CHECK(made.step_high == Approx(117.880).epsilon(1e-4));
  CHECK(made.memory_low == Approx(28.786e9).epsilon(1e-4));
  CHECK(made.memory_high == Approx(55.583e9).epsilon(1e-4));
}

TEST_CASE("days follow the step time", "[estimate][spread]") {
  const auto made = ranged(0.1, 0.2);
  const auto days = made.range_of(10);
  CHECK(days.low == Approx(8.4832).epsilon(1e-4));
  CHECK(days.high == Approx(11.788).epsilon(1e-4));
}

TEST_CASE("without spread there is no range", "[estimate][spread]") {
  const auto made = ranged(0, 0);
  CHECK(made.step_low == 100);
  CHECK(made.step_high == 100);
}

TEST_CASE("ranges overlap where one reaches the other", "[estimate][spread]") {
  const plan::EstimateRange range{10, 20};
  CHECK(range.overlaps({20, 30}));
  CHECK(range.overlaps({12, 13}));
  CHECK(range.overlaps({5, 30}));
  CHECK_FALSE(range.overlaps({20.1, 30}));
  CHECK_FALSE(range.overlaps({1, 9.9}));
}

namespace {

// Rows of 8 to 64 GPUs, with and without flash attention but never with offload.
plan::Partition measured_with(double spread) {
  plan::Partition at;
  at.efficiency.time_spread.value = spread;
  plan::Stack stack;
  stack.name = "some-2022";
  stack.seen.rows = 10;
  stack.seen.gpus = {8, 64};
  stack.seen.settings["offload"] = {"none"};
  at.on = std::make_shared<const plan::Stack>(stack);
  at.seen.rows = 3;
  at.seen.gpus = {8, 16};
  return at;
}

plan::Run run_on(std::int64_t gpus, const std::string& offload) {
  auto strategy = std::make_shared<plan::Strategy>();
  strategy->params.push_back({"offload", "", plan::ParamType::choice, {}, {}, 0, 0, {}, {}});
  plan::Run run;
  run.strategy = strategy;
  run.settings = {offload};
  run.gpus = gpus;
  return run;
}

}  // namespace

TEST_CASE("a range widens with the distance from the rows", "[estimate][spread]") {
  const auto at = measured_with(0.05);
  CHECK(estimate::spread_of(run_on(32, "none"), at).time == 0.05);  // the stack's rows cover it
  const auto near = estimate::spread_of(run_on(128, "none"), at).time;
  const auto far = estimate::spread_of(run_on(768, "none"), at).time;
  CHECK(near > 0.05);
  CHECK(far > near);
}

TEST_CASE("tensor parallelism over nodes is far from rows inside one", "[estimate][spread]") {
  auto at = measured_with(0.05);
  at.gpus_per_node = 8;
  auto run = run_on(32, "none");
  run.layout.tensor_parallel = 16;
  CHECK(estimate::spread_of(run, at).time == Approx(std::hypot(0.05, 0.3)));
  at.seen.tensor_nodes = {1, 2};
  CHECK(estimate::spread_of(run, at).time == 0.05);
}

TEST_CASE("fewer micro-batches than any row had are far, more are not", "[estimate][spread]") {
  auto at = measured_with(0.05);
  at.seen.micro_batches = {16, 64};
  auto run = run_on(16, "none");
  for (const auto& [micro_batches, more] : {std::pair(4, 2 * 0.06), {16, 0.0}, {512, 0.0}}) {
    run.batch.accumulate = micro_batches;
    CHECK(estimate::spread_of(run, at).time == Approx(std::hypot(0.05, more)));
  }
}

TEST_CASE("on a machine that nobody measured fixed costs are doubted most", "[estimate][spread]") {
  auto at = measured_with(0.05);
  const auto run = run_on(16, "none");
  CHECK(estimate::spread_of(run, at, 0.8).time == 0.05);
  at.seen.rows = 0;
  CHECK(estimate::spread_of(run, at, 0).time == 0.05);
  CHECK(estimate::spread_of(run, at, 0.8).time == Approx(std::hypot(0.05, 0.4)));
}

TEST_CASE("rows of a stack on this very machine leave no doubt of the machine",
          "[estimate][spread]") {
  // hypot(0.2, 0.1) as for an unmeasured machine; 0.1 is the residual of the stack's rows.
  auto at = measured_with(std::hypot(0.2, 0.1));
  at.seen.rows = 0;
  auto stack = *at.on;
  stack.constants["time_spread"] = {0.1, "fitted: ten rows"};
  stack.constants["memory_spread"] = {0.03, "fitted: ten rows"};
  auto run = run_on(16, "none");
  auto cluster = std::make_shared<plan::Cluster>();
  cluster->name = "somewhere";
  plan::Partition partition;
  partition.name = "gpus";
  run.cluster = cluster, run.partition = &partition;
  stack.seen.machines = {"elsewhere/gpus"};
  at.on = std::make_shared<const plan::Stack>(stack);
  CHECK(estimate::spread_of(run, at, 0.8).time == Approx(std::hypot(std::hypot(0.2, 0.1), 0.4)));
  stack.seen.machines.push_back("somewhere/gpus");
  at.on = std::make_shared<const plan::Stack>(stack);
  CHECK(estimate::spread_of(run, at, 0.8).time == 0.1);
  CHECK(estimate::spread_of(run, at, 0.8).memory == 0.03);
}

TEST_CASE("how far an estimate is from any row is said", "[estimate][spread]") {
  const auto at = measured_with(0.05);
  plan::Estimate made;
  made.step_seconds = 100;
  estimate::UnseenSettings unseen;
  estimate::add_remarks(run_on(768, "optimizer"), at, unseen, made);
  CHECK(made.stack == "some-2022");
  CHECK(made.remarks == std::vector<std::string>{"extrapolated 12x in GPUs",
                                                 "no row of some-2022 had offload = optimizer"});
  estimate::add_remarks(run_on(32, "none"), at, unseen, made);
  CHECK(made.remarks.empty());
  CHECK(made.step_high == Approx(100 * std::exp(1.645 * 0.05)));
}

namespace {

// run_on with one more setting.
plan::Run with(const char* name, const std::string& word) {
  auto run = run_on(32, "none");
  auto strategy = std::make_shared<plan::Strategy>(*run.strategy);
  strategy->params.push_back({name, "", plan::ParamType::text, {}, {}, 0, 0, {}, {}});
  run.strategy = strategy;
  run.settings = {std::string("none"), word};
  static const plan::Partition kMachine;
  run.partition = &kMachine;
  return run;
}

plan::Estimate remarked(const plan::Run& run, const plan::Partition& at) {
  plan::Estimate made;
  made.step_seconds = 100;
  estimate::UnseenSettings unseen;
  estimate::add_remarks(run, at, unseen, made);
  return made;
}

}  // namespace

TEST_CASE("what no row of any machine had is said, and widens the range most",
          "[estimate][spread]") {
  auto at = measured_with(0.05);
  auto stack = *at.on;
  stack.seen.settings["dtype"] = {"bf16"};
  at.on = std::make_shared<const plan::Stack>(stack);
  const double wide = 100 * std::exp(1.645 * std::hypot(0.05, 0.2));
  CHECK(remarked(with("dtype", "bf16"), at).remarks.empty());
  const auto narrow = remarked(with("dtype", "fp8"), at);
  CHECK(narrow.remarks == std::vector<std::string>{"no row of any machine had dtype = fp8"});
  CHECK(narrow.step_high == Approx(wide));
  CHECK(remarked(with("context_parallel", "1"), at).remarks.empty());
  const auto shared = remarked(with("context_parallel", "2"), at);
  CHECK(shared.remarks ==
        std::vector<std::string>{"no row of any machine had context_parallel = 2"});
  CHECK(shared.step_high == Approx(wide));
  auto mixture = with("dtype", "bf16");
  mixture.model.experts = 8;
  CHECK(remarked(mixture, at).remarks ==
        std::vector<std::string>{"no row of any machine had experts"});
  mixture.settings = {std::string("none"), std::string("fp8")};
  CHECK(remarked(mixture, at).remarks ==
        std::vector<std::string>{"no row of any machine had dtype = fp8 or experts"});
  // Rows of another stack count too.
  plan::Partition machine;
  auto other = std::make_shared<plan::Stack>();
  other->seen.rows = 1;
  other->seen.settings["dtype"] = {"fp8"};
  machine.stacks.push_back({other, nullptr});
  auto run = with("dtype", "fp8");
  run.partition = &machine;
  CHECK(remarked(run, at).remarks ==
        std::vector<std::string>{"no row of some-2022 had dtype = fp8"});
}

TEST_CASE("rows of a stack on a machine may all have what a run lacks", "[estimate][spread]") {
  auto at = measured_with(0.05);
  at.seen.settings["fp32_accumulate"] = {"true", "false"};
  at.seen.of_stack["some-2022"]["fp32_accumulate"] = {"true"};
  CHECK(remarked(with("fp32_accumulate", "true"), at).remarks.empty());
  const auto made = remarked(with("fp32_accumulate", "false"), at);
  CHECK(made.remarks == std::vector<std::string>{
                            "no row of some-2022 on this machine had fp32_accumulate = false"});
  CHECK(made.step_high == Approx(100 * std::exp(1.645 * std::hypot(0.05, 0.05))));
}

}  // namespace spread_test
