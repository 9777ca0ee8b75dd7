#include "core/plan/run_id.h"

#include "core/plan/family.h"
#include "core/plan/run_fields.h"
#include "core/plan/run_json.h"
#include "core/plan/slurm.h"
#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

// The expected lines, written by hand.
TEST_CASE("a run is what differs from defaults", "[plan][id]") {
  auto run = test::run();
  run.stack = default_stack(run);
  CHECK(identity(run) ==
        "rule=1\nstrategy=8:megatron\nbackend=8:megatron\nfamily=3:gpt\ncluster=3:toy\n"
        "partition=4:a100\ngpu=8:a100-80g\nexperiment=3:toy\nmodel.name=1:m\nmodel.layers=80\n"
        "model.hidden=14336\nmodel.heads=112\nmodel.vocab=50257\nmodel.seq=2048\ngpus=384\n"
        "nodes=48\ntensor_parallel=8\npipeline_parallel=12\ndata_parallel=4\nmicro_batch=2\n"
        "accumulate=256\nglobal_batch=2048\ntokens=300000000000\nsettings.tensor_parallel=8\n"
        "settings.pipeline_parallel=12\n");
}

TEST_CASE("who trains a run, and with what words, is part of it", "[plan][id]") {
  auto run = test::run();
  run.stack = default_stack(run);
  std::set<std::string> ids{run_id(run)};
  const auto is_new = [&] {
    run.stack = default_stack(run);
    return ids.insert(run_id(run)).second;
  };
  run.framework = "megatron-lm@0.12";
  CHECK(is_new());
  CHECK(run.stack == "megatron-lm@0.12");
  run.framework = "megatron-lm@0.13";
  CHECK(is_new());
  run.launch = "node";
  CHECK(is_new());
  run.args = {"--a b"};
  CHECK(is_new());
  run.args = {"--a", "b"};
  CHECK(is_new());
  run.job.environment["WORK"] = "$HOME/x";
  CHECK(is_new());
  run.job.expanded = {"WORK"};
  CHECK(is_new());
  auto& container = run.job.container;
  container.image = "/torch.sif";
  CHECK(is_new());
  container.runtime = "apptainer";
  CHECK(is_new());
  container.mounts = {"/a:/b"};
  CHECK(is_new());
  container.mounts = {"/a", "/b"};
  CHECK(is_new());
  container.workdir = "/work";
  CHECK(is_new());
  container.gpu = false;
  CHECK(is_new());
  const auto again = parse_run(run_json(run), "run.json");
  REQUIRE(again);
  CHECK(again->job.container == container);
  CHECK(again->framework == run.framework);
  CHECK(again->launch == run.launch);
  CHECK(again->args == run.args);
  CHECK(again->job.expanded == run.job.expanded);
}

TEST_CASE("a framework is estimated as its own engine", "[plan]") {
  Param engine;
  engine.name = "engine";
  engine.default_value = std::string("orch");
  const auto of = [&](const char* framework) {
    return std::get<std::string>(default_engine(engine, framework));
  };
  engine.choices = {"orch", "megatron", "deepspeed", "nanotron"};
  CHECK(of("") == "orch");
  CHECK(of("megatron-lm@0.12") == "megatron");
  CHECK(of("megatron-deepspeed@0.16") == "deepspeed");
  CHECK(of("megatron-deepspeed-bloom") == "deepspeed");
  CHECK(of("torchtitan@main") == "megatron");
  CHECK(of("mine@1") == "orch");  // unknown software
  engine.choices = {"orch", "framework"};
  CHECK(of("") == "orch");
  CHECK(of("megatron-deepspeed@0.16") == "framework");
  CHECK(of("torch") == "framework");
  CHECK(of("mine@1") == "framework");
}

TEST_CASE("where a framework trains, the engine of the estimate is no part of the run",
          "[plan][id]") {
  auto run = test::run();
  auto strategy = *run.strategy;
  Param engine;
  engine.name = "engine";
  engine.default_value = std::string("orch");
  strategy.params.push_back(engine);
  run.strategy = std::make_shared<const Strategy>(strategy);
  run.settings.push_back(std::string("orch"));
  auto other = run;
  other.settings.set(other.settings.size() - 1, std::string("megatron"));
  CHECK(identity(run) != identity(other));
  run.framework = other.framework = "megatron-lm@0.12";
  CHECK(identity(run) == identity(other));
  CHECK(variant(other).find("engine=megatron") != std::string::npos);
}

TEST_CASE("variables that a job expands and does not set must be there", "[plan]") {
  SlurmSettings job;
  job.environment = {{"A", "$WORK/${USER_1}/$$HOME \\$X"},
                     {"B", "$A/$SCRATCH"},
                     {"C", "$C:x"},
                     {"D", "$PLAIN"},
                     {"E", "${E}"},
                     {"F", "$G"},
                     {"G", "$A"}};
  job.expanded = {"A", "B", "C", "E", "F", "G"};
  const std::map<std::string, std::string> expected{
      {"WORK", "A"},    {"USER_1", "A"}, {"X", "A"},
      {"SCRATCH", "B"}, {"E", "E"},      {"G", "F"}};  // which comes after F
  CHECK(needed_variables(job) == expected);
  CHECK(expansion("C", "/x:$C:${C}") == "\"/x:${C-}:${C-}\"");  // a path that may have been empty
  CHECK(expansion("E", "${E}") == "\"${E}\"");
  CHECK(unset_variable("WORK", "A", "here").fact == "WORK is not set here, and A needs it");
}

TEST_CASE("what is new and has a default changes no id", "[plan][id]") {
  auto run = test::run();
  run.stack = default_stack(run);
  const auto before = run_id(run);

  // A parameter of the strategy, and another release of its backend.
  auto strategy = std::make_shared<Strategy>(*run.strategy);
  Param param;
  param.name = "fused_optimizer";
  param.type = ParamType::boolean;
  param.default_value = true;
  strategy->params.push_back(param);
  strategy->backend_version = "9.9";
  run.strategy = strategy;
  run.settings.push_back(true);
  const auto last = run.settings.size() - 1;
  CHECK(run_id(run) == before);
  run.settings.set(last, false);
  CHECK(run_id(run) != before);
  run.settings.set(last, true);

  // A field of training.
  auto fields = training_fields();
  auto field = fields.front();
  field.param.name = "z_loss";
  fields.insert(fields.begin(), field);
  CHECK(identity(run, fields) == identity(run));

  // Values of the cluster's file: documentation, origins, constants.
  auto cluster = std::make_shared<Cluster>(*run.cluster);
  cluster->doc = "a comment";
  cluster->partitions.front().efficiency.gemm = {0.7, "measured"};
  run.cluster = cluster;
  run.partition = &cluster->partitions.front();
  CHECK(run_id(run) == before);

  // Its folder's path.
  run.paths_from = "../../elsewhere";
  CHECK(run_id(run) == before);
}

TEST_CASE("whatever decides a result is in the id", "[plan][id]") {
  auto base = test::run();
  base.stack = default_stack(base);
  base.batch.rampup.emplace();
  std::set<std::string> seen{identity(base)};
  const auto differs = [&](Run run) { CHECK(seen.insert(identity(run)).second); };
  for (const auto& field : run_fields()) {
    if (field.param.name == "paths_from" || field.param.name == "swept") continue;
    if (field.size() && !is_open(base.model, *field.size())) continue;  // fixed by its family
    INFO(field.path());
    auto run = base;
    const auto value = get(run, field);
    if (const auto* flag = std::get_if<bool>(&value)) set(run, field, Value(!*flag));
    if (const auto* whole = std::get_if<std::int64_t>(&value)) set(run, field, Value(*whole + 1));
    if (const auto* real = std::get_if<double>(&value)) set(run, field, Value(*real + 1));
    if (const auto* text = std::get_if<std::string>(&value)) set(run, field, Value(*text + "x"));
    differs(run);
  }
  auto run = base;
  run.training.seed = 2;
  differs(run);
  run = base;
  run.job.environment["A"] = "";
  differs(run);
  run = base;
  run.job.options = {"--exclusive"};
  differs(run);
  run = base;
  run.settings.set(2, std::string("powersgd"));
  differs(run);
  run = base;
  run.model.family = "bloom";
  differs(run);
  // A value that looks like another line changes nothing.
  run = base;
  run.job.account = "a\njob.qos=1:b";
  differs(run);
}

TEST_CASE("a repeat is another run, the first is the run itself", "[plan][id]") {
  auto run = test::run();
  const auto first = run_id(run);
  const auto document = run_json(run);
  CHECK(document.find("repeat") == std::string::npos);
  CHECK(document.find("swept") == std::string::npos);
  run.repeat = 2;
  CHECK(run_id(run).find("-r2-") != std::string::npos);
  CHECK(identity(run).find("repeat=2\n") != std::string::npos);
  const auto again = parse_run(run_json(run), "run.json");
  REQUIRE(again);
  CHECK(again->repeat == 2);
  run.repeat = 1;
  CHECK(run_id(run) == first);
}

TEST_CASE("what is swept is in the label and not in what the run is", "[plan][id]") {
  auto run = test::run();
  run.training.seed = 7;
  run.training.learning_rate = 1e-3;
  const auto before = identity(run);
  run.swept = "learning_rate,seed";
  CHECK(identity(run) == before);
  CHECK(label(run).ends_with("-learning_rate0.001-seed7"));
  CHECK(variant(run).ends_with("learning_rate=0.001 seed=7"));
  const auto again = parse_run(run_json(run), "run.json");
  REQUIRE(again);
  CHECK(again->swept == run.swept);
}
