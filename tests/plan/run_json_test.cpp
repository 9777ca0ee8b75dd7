#include "core/plan/run_json.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/plan/run_fields.h"
#include "core/plan/run_id.h"
#include "tests/plan/support.h"

using namespace orch;
using namespace orch::plan;

namespace {

using Json = nlohmann::ordered_json;

// The smallest possible document, written by hand.
const std::string kSmall = R"({
  "version": 1, "experiment": "local", "strategy": "accumulated", "backend": "ddp",
  "model": {"name": "gpt-tiny", "family": "bloom", "layers": 4, "hidden": 128, "heads": 4,
            "vocab": 500, "seq": 128},
  "gpu": "cpu", "gpus": 4, "data_parallel": 4, "accumulate": 2, "global_batch": 8, "rampup": null,
  "tokens": 1000000, "steps": 20,
  "settings": {"dtype": "fp32", "overlap": true, "powersgd_rank": 2, "bucket_mb": 0.5,
               "unset": null},
  "job": {"partition": ""}
})";

std::string with(std::string text, const std::string& old, const std::string& now) {
  const auto at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

Run parsed(const std::string& text) {
  auto run = parse_run(text, "run.json");
  if (!run) FAIL(orch::text(run.error()));
  return std::move(*run);
}

std::string problems(const std::string& text) {
  const auto run = parse_run(text, "run.json");
  return run ? "" : orch::text(run.error());
}

FindCluster only(const Run& run) {
  return [cluster = run.cluster](std::string_view) {
    return Result<std::shared_ptr<const Cluster>>(cluster);
  };
}

Run everything() {
  auto run = test::run();
  run.id = "m-megatron-12345678";
  run.batch.rampup = RampUp{192, 16, 9'765'625, true, 3};
  run.job.account = "six@a100";
  run.job.environment["X"] = "a\"b\n$(c)";
  run.job.options = {"--exclusive"};
  run.job.spare_nodes = 3;
  run.job.signal_seconds = 600;
  run.trainer = "/opt/train";
  run.stack = "mine-2026";
  run.training.data = "corpus/text";
  run.training.seed = 7;
  run.paths_from = "../../../experiments";
  run.steps = 50;
  return run;
}

}  // namespace

TEST_CASE("run.json reads back as the same run", "[plan][run]") {
  const auto run = everything();
  const auto json = run_json(run);
  auto read = parsed(json);
  CHECK(read.partition->gpus_per_node == 8);
  CHECK(read.partition->gpu.name == "a100-80g");
  REQUIRE(bind(read, "run.json", {run.strategy}, only(run)));
  CHECK(run_json(read) == json);
  CHECK(identity(read) == identity(run));
  CHECK(read.job.environment.at("X") == "a\"b\n$(c)");
  for (const auto& field : run_fields()) {
    INFO(field.path());
    CHECK(get(read, field) == get(run, field));
  }
}

TEST_CASE("what a run.json by hand does not say is as by default", "[plan][run]") {
  const auto run = parsed(kSmall);
  CHECK(run.experiment == "local");
  CHECK(run.strategy->backend == "ddp");
  CHECK(run.model.family == "bloom");
  CHECK(run.model.head_dim == 32);
  CHECK(run.partition->gpu.name == "cpu");
  CHECK(run.partition->gpus_per_node == 4);
  CHECK(run.nodes == 1);
  CHECK(run.layout == Layout{1, 1, 4});
  CHECK(run.batch == Batch{1, 2, 8, {}});
  CHECK(run.tokens == 1e6);
  CHECK(run.setting("dtype") == Value(std::string("fp32")));
  CHECK(run.setting("bucket_mb") == Value(0.5));
  CHECK_FALSE(is_given(run.setting("unset")));
  CHECK(run.training == Training{});
  CHECK(run.stack == "orch-ddp");
}

TEST_CASE("all problems of a run.json are told at once", "[plan][run]") {
  auto text = with(kSmall, R"("job")",
                   R"("training": {"dropout": 2, "schedule": "cosin", "seed": "x",
                      "tensorboard": 1}, "job")");
  text = with(text, R"("vocab": 500)", R"("vocab": 0)");
  text = with(text, R"("gpus": 4,)", "");
  const auto told = problems(text);
  INFO(told);
  CHECK(told.find("run.json: gpus: is missing") != std::string::npos);
  CHECK(told.find("run.json: model.vocab: 0 is out of range") != std::string::npos);
  CHECK(told.find("training.dropout: 2 is out of range") != std::string::npos);
  CHECK(told.find("training.schedule: no choice 'cosin'\n  did you mean 'cosine'?") !=
        std::string::npos);
  CHECK(told.find("training.seed: 'x' is not an integer") != std::string::npos);
  CHECK(told.find("training.tensorboard: 1 is not true or false") != std::string::npos);
}

TEST_CASE("sizes that contradict each other are refused", "[plan][run]") {
  const auto refused = [](const std::string& old, const std::string& now, const std::string& why) {
    const auto told = problems(with(kSmall, old, now));
    INFO(told);
    CHECK(told.find(why) != std::string::npos);
  };
  refused(R"("heads": 4)", R"("heads": 5)", "hidden 128 does not divide into 5 heads");
  refused(R"("gpus": 4)", R"("gpus": 8)", "= 4 ranks on 8 GPUs");
  refused(R"("accumulate": 2)", R"("accumulate": 3)",
          "8 samples, but micro_batch 1 x accumulate 3 x data_parallel 4 = 12");
  refused(R"("tokens": 1000000, "steps": 20)", R"("tokens": 0, "steps": 0)",
          "neither tokens nor steps are given");
  refused(R"("rampup": null)", R"("rampup": {"start": 2, "step": 2, "samples": 40})",
          "level 1 of 4, global batch 2, is not a multiple of micro_batch 1 x data_parallel 4 = 4");
  refused(R"("rampup": null)", R"("rampup": {"start": 4, "step": 3, "samples": 40})",
          "steps of 3 from 4 do not end at 8");
  refused(R"("rampup": null)", R"("rampup": {"start": 4})", "rampup.step: is missing");
  refused(R"("gpus": 4)", R"("gpus": 4, "nods": 2)",
          "nods: no such field\n  did you mean 'nodes'?");
  refused(R"("partition": "")", R"("qoss": "")", "job.qoss: no such field");
  refused(R"("backend": "ddp")", R"("backend": "../ddp")", "is not a backend");
  refused(R"("gpus": 4)", R"("gpus": 4, "tensor_parallel": 9223372036854775807)", "out of range");
}

TEST_CASE("a torn, foreign or changed run.json is an error, not a crash", "[plan][run]") {
  const auto json = run_json(test::run());
  CHECK(problems("").find("not a JSON object") != std::string::npos);
  CHECK(problems("[1]").find("not a JSON object") != std::string::npos);
  CHECK(problems("{}").find("another version") != std::string::npos);
  CHECK(problems(R"({"version": 2})").find("another version") != std::string::npos);
  CHECK(problems(with(kSmall, "\"steps\": 20", "\"steps\": 18446744073709551615"))
            .find("run.json: steps: ") != std::string::npos);
  CHECK(problems(std::string(100'000, '[')).find("not a JSON object") != std::string::npos);
  CHECK_FALSE(read_run("/nowhere/run.json"));
  for (std::size_t cut = 1; cut < json.size() - 2; cut += 37)
    CHECK_FALSE(problems(json.substr(0, cut)).empty());
  CHECK(problems(with(json, "\"micro_batch\": 2", "\"micro_batch\": 4"))
            .find("was changed after the run was planned") != std::string::npos);
}

TEST_CASE("a folder holds the run.json that it was made with", "[plan][run]") {
  auto run = test::run();
  run.id = "m-1234";
  CHECK(check_frozen(run_json(run), "/runs/toy/m-1234/run.json"));
  CHECK_FALSE(check_frozen(run_json(run), "/runs/toy/m-1235/run.json"));
  CHECK_FALSE(check_frozen(kSmall, "/runs/toy/x-00000000/run.json"));
}

TEST_CASE("paths begin at the experiment's folder, wherever the run's is", "[plan][run]") {
  auto run = everything();
  CHECK(run.resolve("corpus/text", "/a/runs/toy/m-1") == "/a/experiments/corpus/text");
  CHECK(run.resolve("corpus/text", "/moved/b/runs/toy/m-1") == "/moved/b/experiments/corpus/text");
  CHECK(run.resolve("/data/text", "/a/runs/toy/m-1") == "/data/text");
  CHECK(run.resolve("", "/a/runs/toy/m-1").empty());
}
