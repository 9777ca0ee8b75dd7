#include "core/price/search/lua_text.h"

#include "tests/price/search/support.h"

using namespace orch;
using namespace orch::search;
using namespace orch::search::test;

namespace {

plan::Run only_run(SearchBench& bench, const plan::Experiment& experiment) {
  const auto plan =
      must(plan::expand(experiment, bench.find_cluster(), [](const plan::Run&, auto&, auto&) {}));
  if (plan.runs.size() != 1) FAIL("not one run");
  return plan.runs.front();
}

std::string written(const plan::Run& run, const plan::Experiment& experiment,
                    const std::string& comment = "") {
  return experiment_lua(run, experiment, experiment.strategies.front(), comment);
}

// A value different from the default, within the parameter's limits.
plan::Value other_than_default(const plan::Param& param) {
  if (!plan::is_given(param.default_value)) return static_cast<std::int64_t>(param.min);
  if (!param.choices.empty()) return plan::Value(param.choices.back());
  if (const auto* flag = std::get_if<bool>(&param.default_value)) return plan::Value(!*flag);
  if (const auto* count = std::get_if<std::int64_t>(&param.default_value))
    return plan::Value(*count + 1);
  if (const auto* number = std::get_if<double>(&param.default_value))
    return plan::Value(*number == 0 ? 0.1 : *number * 0.9);
  return plan::Value(std::string("a \"b\" \\"));
}

}  // namespace

TEST_CASE("all fields of an experiment are written", "[search]") {
  SearchBench bench;
  experiment::Loader loader{bench.backends.strategies(),
                            {fs::path(ORCH_SOURCE_DIR) / "experiments/models.lua"},
                            {"tokens_per_second", "peak_memory"}};
  auto experiment = must(loader.parse(R"(return experiment {
    name = "all", doc = "of them", trainer = "/opt/train", stack = "ours", strict = true, repeats = 2,
    model = preset("bloom-7b", { seq = 1024 }), tokens = 341e9, steps = 12,
    hardware = { cluster = "jean-zay", partition = "a100-80g", gpus = 16, account = "abc@a100",
                 qos = "qos_gpu-dev", reservation = "r", constraint = "a100", time = "02:00:00",
                 hint = "nomultithread", gres = "gpu:8", spare_nodes = 1,
                 environment = { A_B = "x y", C = expand "$HOME/c" }, options = { "--exclusive" },
                 setup = "module load a\nmodule load b" },
    batch = { global_batch = 64, micro_batch = 2,
              rampup = { start = 32, step = 32, samples = 1000000, fewer_nodes = true, phases = 3 } },
    training = { seed = { 1, 2 } },
    start = "2027-01-01", availability = 0.9,
    budget = { gpu_hours = 123456.5, energy_kwh = 87654.5, co2_kg = 5432.5, deadline_days = 90,
               deadline = "2027-06-01", reserve_nodes = 1 },
    expect = { { tokens_per_second = { value = 68000, below = 0.05, above = 0.125 } },
               { where = "gpus=16", peak_memory = { value = 6e10, above = 0.1 },
                 tokens_per_second = { value = 70000, below = 0.02 } } },
    strategies = { megatron { tensor_parallel = 2, pipeline_parallel = 4, framework = "megatron-lm@0.12",
                              launch = "node", args = { "--a", "b c" }, stack = "theirs",
                              environment = { C = "d", E = expand "$HOME/e" },
                              setup = "source \"venv\"" } },
  })",
                                      "test.lua"));
  for (const auto& field : plan::training_fields())
    if (field.param.name != "seed")
      for (auto& training : experiment.trainings)
        set(training, field,
            field.param.name == "split" ? plan::Value(std::string("8,1,1"))
                                        : other_than_default(field.param));
  const auto plan = must(plan::expand(experiment, bench.find_cluster(), [](const auto&...) {}));
  REQUIRE_FALSE(plan.runs.empty());
  const auto again = must(loader.parse(written(plan.runs.front(), experiment), "again.lua"));
  CHECK(again.doc == experiment.doc);
  CHECK(again.trainer == experiment.trainer);
  CHECK(again.stack == experiment.stack);
  CHECK(again.strict == experiment.strict);
  CHECK(again.repeats == experiment.repeats);
  CHECK(again.job == experiment.job);
  CHECK(again.rampup == experiment.rampup);
  CHECK(again.trainings == experiment.trainings);
  CHECK(again.swept == experiment.swept);
  CHECK(again.calendar.start == experiment.calendar.start);
  CHECK(again.calendar.availability == experiment.calendar.availability);
  CHECK(again.budget.gpu_hours == experiment.budget.gpu_hours);
  CHECK(again.budget.energy_kwh == 87654.5);
  CHECK(again.budget.co2_kg == 5432.5);
  CHECK(again.budget.deadline_days == experiment.budget.deadline_days);
  CHECK(again.budget.deadline == experiment.budget.deadline);
  CHECK(again.budget.reserve_nodes == experiment.budget.reserve_nodes);
  CHECK(again.expect == experiment.expect);
  REQUIRE(again.strategies.size() == 1);
  const auto &asked = again.strategies.front(), &before = experiment.strategies.front();
  CHECK(asked.stack == before.stack);
  CHECK(asked.framework == before.framework);
  CHECK(asked.launch == before.launch);
  CHECK(asked.args == before.args);
  CHECK(asked.job == before.job);
}

TEST_CASE("every parameter of a strategy is written, whatever its default", "[search]") {
  SearchBench bench;
  for (const char* framework : {"", "megatron-lm@0.12"})
    for (const auto& strategy : bench.backends.strategies()) {
      auto experiment = bench.parse(
          "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-b200', gpus = 8 }, "
          "strategies = { fsdp {} } }");
      auto& asked = experiment.strategies.front();
      asked.strategy = strategy;
      asked.framework = framework;
      auto run = only_run(bench, experiment);
      for (std::size_t i = 0; i < strategy->params.size(); ++i)
        if (!plan::is_given(run.settings[i]))
          run.settings.set(i, other_than_default(strategy->params[i]));
      for (std::size_t i = 0; i < strategy->params.size(); ++i) {
        auto changed = run;
        if (const int parent = strategy->index(strategy->params[i].parent); parent >= 0)
          changed.settings.set(static_cast<std::size_t>(parent),
                               plan::Value(strategy->params[i].choice));
        for (const auto& value :
             {other_than_default(strategy->params[i]), strategy->params[i].default_value}) {
          if (!plan::is_given(value)) continue;
          changed.settings.set(i, value);
          INFO(strategy->name << " " << strategy->params[i].name << " " << framework);
          CHECK(only_run(bench, bench.parse(written(changed, experiment))).settings ==
                changed.settings);
        }
      }
    }
}

TEST_CASE("a minimum that follows from a list of learning rates is not a list", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "training = { learning_rate = { 1e-5, 3e-4 } }, strategies = { fsdp {} } }");
  const auto plan = must(plan::expand(experiment, bench.find_cluster(), [](const auto&...) {}));
  const auto again = bench.parse(written(plan.runs.front(), experiment));
  CHECK(again.trainings == experiment.trainings);
  CHECK(again.swept == experiment.swept);
}

TEST_CASE("what is written reads back as the same run", "[search]") {
  SearchBench bench;
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
  const auto lua = written(run, experiment, "one\ntwo");
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
  SearchBench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', nodes = 1 }, "
      "training = { seed = { 1, 2 }, clip = 0.5, learning_rate = { 1e-4, 3e-4 } }, repeats = 2, "
      "availability = { { from = '2027-01-01', nodes = 18 }, "
      "{ from = '2027-02-15', nodes = 48, share = 0.8 } }, strategies = { fsdp {} } }");
  CHECK(experiment.trainings.size() == 4);
  CHECK(experiment.swept == std::vector<std::string>{"learning_rate", "seed"});
  const auto plan = must(plan::expand(experiment, bench.find_cluster(), [](const auto&...) {}));
  REQUIRE(plan.runs.size() == 8);
  const auto again = bench.parse(written(plan.runs.front(), experiment));
  CHECK(again.trainings == experiment.trainings);
  CHECK(again.swept == experiment.swept);
  CHECK(again.repeats == 2);
  CHECK(again.calendar.windows == experiment.calendar.windows);
  CHECK(again.calendar.start == parse_date("2027-01-01"));
}

TEST_CASE("a choice with parameters of its own is written with them", "[search]") {
  SearchBench bench;
  const auto experiment = bench.parse(
      "return experiment { model = 'gpt-1.3b', hardware = { cluster = 'dgx-a100', gpus = 8 }, "
      "strategies = { fsdp { sharding = hybrid { shard_group = 4 }, micro_batch = 2 } } }");
  const auto run = only_run(bench, experiment);
  CHECK(strategy_lua(run) ==
        "fsdp { sharding = \"hybrid\", hybrid_shard_group = 4, micro_batch = 2 }");
  CHECK(only_run(bench, bench.parse(written(run, experiment))).settings == run.settings);
}
