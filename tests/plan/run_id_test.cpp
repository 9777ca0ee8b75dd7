#include "core/plan/run_id.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "core/plan/run_fields.h"
#include "core/plan/run_json.h"
#include "tests/plan/support.h"

using namespace orch;
using namespace orch::plan;

// The lines by hand.
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
  strategy->params.insert(strategy->params.begin(), param);
  strategy->backend_version = "9.9";
  run.strategy = strategy;
  run.settings.insert(run.settings.begin(), Value(true));
  CHECK(run_id(run) == before);
  run.settings.front() = false;
  CHECK(run_id(run) != before);
  run.settings.front() = true;

  // A field of training.
  auto fields = training_fields();
  auto field = fields.front();
  field.param.name = "z_loss";
  fields.insert(fields.begin(), field);
  CHECK(identity(run, fields) == identity(run));

  // The cluster's words: documentation, origins, constants.
  auto cluster = std::make_shared<Cluster>(*run.cluster);
  cluster->doc = "a comment";
  cluster->partitions.front().efficiency.gemm = {0.7, "measured"};
  run.cluster = cluster;
  run.partition = &cluster->partitions.front();
  CHECK(run_id(run) == before);

  // Where it lies.
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
    if (field.param.name == "paths_from") continue;
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
  run.settings[2] = std::string("powersgd");
  differs(run);
  run = base;
  run.model.family = Family::bloom;
  differs(run);
  // A text that looks like another line is none.
  run = base;
  run.job.account = "a\njob.qos=1:b";
  differs(run);
}

TEST_CASE("a run of version 1 is the planned one, its paths absolute", "[plan][id]") {
  auto planned = test::run();
  planned.training.data = "corpus/text";
  auto read = planned;
  read.training.data = "/home/me/corpus/text";
  CHECK(identity(read) != identity(planned));
  CHECK(identity(read) == identity(with_paths_of(planned, "/home/me")));
  CHECK(identity(read) != identity(with_paths_of(planned, "/home/you")));
}
