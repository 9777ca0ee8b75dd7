#include "core/price/search/lua_text.h"

#include "tests/price/search/support.h"

using namespace orch;
using namespace orch::search;
using namespace orch::search::test;

namespace {

plan::Run only_run(Bench& bench, const plan::Experiment& experiment) {
  const auto plan =
      must(plan::expand(experiment, bench.find_cluster(), [](const plan::Run&, auto&, auto&) {}));
  if (plan.runs.size() != 1) FAIL("not one run");
  return plan.runs.front();
}

}  // namespace

TEST_CASE("what is written reads back as the same run", "[search]") {
  Bench bench;
  const auto experiment = bench.parse(R"(return experiment {
    name = "round", doc = "a \"quoted\"\nline \\ ]]",
    model = preset("bloom-7b", { seq = 1024 }),
    hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 16, qos = "qos_gpu-dev",
                 account = "abc@a100", time = "02:00:00",
                 environment = { A_B = "x y \"z\"", C = "1" }, options = { "--exclusive" } },
    batch = { global_batch = 64, micro_batch = 2,
              rampup = { start = 32, step = 32, samples = 1000000, fewer_nodes = true } },
    tokens = 341e9, steps = 12,
    training = { learning_rate = 1.2e-4, min_learning_rate = 6e-6, warmup_steps = 3,
                 schedule = "linear", tensorboard = false, data = "/corpus/a \"b\"" },
    budget = { gpu_hours = 123456.5, reserve_nodes = 1 },
    strategies = { megatron { tensor_parallel = 2, pipeline_parallel = 4, recompute = "none",
                              stage_partition = "transformer|embedding", zero_stage = 1,
                              fused_kernels = false } },
  })");
  const auto run = only_run(bench, experiment);
  const auto lua = experiment_lua(run, experiment, "one\ntwo");
  CHECK(lua.starts_with("-- one\n-- two\nreturn experiment {"));
  const auto again = bench.parse(lua);
  CHECK(again.name == "round-best");
  CHECK(again.doc == experiment.doc);
  CHECK(again.budget.gpu_hours == experiment.budget.gpu_hours);
  CHECK(again.budget.reserve_nodes == 1);
  const auto read = only_run(bench, again);
  CHECK(read.settings == run.settings);
  CHECK(read.model == run.model);
  CHECK(read.layout == run.layout);
  CHECK(read.batch == run.batch);
  CHECK(read.gpus == run.gpus);
  CHECK(read.tokens == run.tokens);
  CHECK(read.steps == run.steps);
  CHECK(read.training == run.training);
  CHECK(read.training.data == "/corpus/a \"b\"");
  CHECK(read.job.qos == run.job.qos);
  CHECK(read.job.account == run.job.account);
  CHECK(read.job.time == run.job.time);
  CHECK(read.job.options == run.job.options);
  CHECK(read.job.environment == run.job.environment);
}

TEST_CASE("lists of training, a calendar and repeats are written as they were", "[search]") {
  Bench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', nodes = 1 }, "
      "training = { seed = { 1, 2 }, clip = 0.5, learning_rate = { 1e-4, 3e-4 } }, repeats = 2, "
      "availability = { { from = '2027-01-01', nodes = 18 }, "
      "{ from = '2027-02-15', nodes = 48, share = 0.8 } }, strategies = { fsdp {} } }");
  CHECK(experiment.trainings.size() == 4);
  CHECK(experiment.swept == std::vector<std::string>{"learning_rate", "seed"});
  const auto plan = must(plan::expand(experiment, bench.find_cluster(), [](const auto&...) {}));
  REQUIRE(plan.runs.size() == 8);
  const auto again = bench.parse(experiment_lua(plan.runs.front(), experiment, ""));
  CHECK(again.trainings == experiment.trainings);
  CHECK(again.swept == experiment.swept);
  CHECK(again.repeats == 2);
  CHECK(again.calendar.windows == experiment.calendar.windows);
  CHECK(again.calendar.start == parse_date("2027-01-01"));
}

TEST_CASE("a choice with parameters of its own is written with them", "[search]") {
  Bench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "strategies = { fsdp { sharding = hybrid { shard_group = 4 }, micro_batch = 2 } } }");
  const auto run = only_run(bench, experiment);
  CHECK(strategy_lua(run) ==
        "fsdp { sharding = \"hybrid\", hybrid_shard_group = 4, micro_batch = 2 }");
  CHECK(only_run(bench, bench.parse(experiment_lua(run, experiment, ""))).settings == run.settings);
}
