#include "backends/runtime/config.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <string>

using namespace orch;
using namespace orch::train;

namespace {

// In the form of tests/golden/training/run.json; what a trainer does not read is left out.
const std::string kRun = R"({
  "version": 1, "experiment": "local", "strategy": "accumulated", "backend": "ddp",
  "model": {"name": "gpt-tiny", "family": "bloom", "layers": 4, "hidden": 128, "heads": 4,
            "vocab": 500, "seq": 128},
  "gpu": "cpu", "gpus": 4,
  "tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 4,
  "micro_batch": 1, "accumulate": 2, "global_batch": 8, "rampup": null,
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

std::string training(const std::string& fields) {
  return with(kRun, R"("job")", R"("training": {)" + fields + R"(}, "job")");
}

RunConfig parsed(const std::string& text) {
  const auto config = parse_config(text, "run.json");
  if (!config) FAIL(orch::text(config.error()));
  return *config;
}

std::string problems(const std::string& text) {
  const auto config = parse_config(text, "run.json");
  return config ? "" : orch::text(config.error());
}

RunConfig ramp(std::int64_t start, std::int64_t step, std::int64_t samples, std::int64_t full) {
  RunConfig config;
  config.model.seq = 100;
  config.global_batch = full;
  config.rampup = RampUp{start, step, samples};
  return config;
}

}  // namespace

TEST_CASE("a trainer reads run.json", "[runtime][config]") {
  const auto config = parsed(kRun);
  CHECK(config.experiment == "local");
  CHECK(config.backend == "ddp");
  CHECK(config.model.family == Family::bloom);
  CHECK(config.model.head_dim() == 32);
  CHECK(config.model.padded_vocab() == 512);
  CHECK(config.gpu == "cpu");
  CHECK(config.data_parallel == 4);
  CHECK(config.accumulate == 2);
  CHECK(config.tokens == 1e6);
  CHECK_FALSE(config.rampup);
  CHECK(config.text("dtype") == "fp32");
  CHECK(config.flag("overlap"));
  CHECK(config.integer("powersgd_rank") == 2);
  CHECK(config.real("powersgd_rank") == 2);
  CHECK(config.real("bucket_mb") == 0.5);
}

TEST_CASE("a trainer reads the run.json that orch writes", "[runtime][config]") {
  const auto config = read_config(ORCH_SOURCE_DIR "/tests/golden/training/run.json");
  REQUIRE(config);
  CHECK(config->strategy == "ddp");
  CHECK(config->model.hidden == 2048);
  CHECK(config->training.schedule == "linear");
  CHECK(config->total_steps() == 2000);
}

TEST_CASE("a setting that is missing or of another type is named", "[runtime][config]") {
  const auto config = parsed(kRun);
  CHECK_THROWS_AS(config.flag("none"), std::out_of_range);
  CHECK_THROWS_AS(config.text("unset"), std::out_of_range);
  CHECK_THROWS_AS(config.integer("dtype"), std::invalid_argument);
  CHECK_THROWS_WITH(config.flag("none"), "run.json: settings.none: is missing");
}

TEST_CASE("without a training section there are defaults", "[runtime][config]") {
  const auto config = parsed(kRun);
  CHECK(config.training.learning_rate == 3e-4);
  CHECK(config.training.schedule == "cosine");
  CHECK(config.training.beta2 == 0.95);
  CHECK(config.training.tensorboard);
}

TEST_CASE("the training section is read field by field", "[runtime][config]") {
  const auto config = parsed(training(R"(
    "learning_rate": 0.01, "min_learning_rate": 0.002, "schedule": "linear", "warmup_steps": 3,
    "decay_steps": 40, "weight_decay": 0, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "clip": 2,
    "dropout": 0.1, "attention_dropout": 0.2, "init_std": 0.01, "seed": 7, "loss_scale": 1024,
    "loss_scale_window": 10, "data": "d/text", "split": "9,1,0", "evaluate_every": 5,
    "evaluate_batches": 6, "checkpoint_every": 8, "keep_checkpoints": 4, "init": "c/step-1",
    "log_every": 9, "tensorboard": false, "collective_timeout": 12.5)"))
                          .training;
  CHECK(config.learning_rate == 0.01);
  CHECK(config.min_learning_rate == 0.002);
  CHECK(config.schedule == "linear");
  CHECK(config.warmup_steps == 3);
  CHECK(config.decay_steps == 40);
  CHECK(config.weight_decay == 0);
  CHECK(config.beta1 == 0.8);
  CHECK(config.beta2 == 0.99);
  CHECK(config.epsilon == 1e-6);
  CHECK(config.clip == 2);
  CHECK(config.dropout == 0.1);
  CHECK(config.attention_dropout == 0.2);
  CHECK(config.init_std == 0.01);
  CHECK(config.seed == 7);
  CHECK(config.loss_scale == 1024);
  CHECK(config.loss_scale_window == 10);
  CHECK(config.data == "d/text");
  CHECK(config.split == "9,1,0");
  CHECK(config.evaluate_every == 5);
  CHECK(config.evaluate_batches == 6);
  CHECK(config.checkpoint_every == 8);
  CHECK(config.keep_checkpoints == 4);
  CHECK(config.init == "c/step-1");
  CHECK(config.log_every == 9);
  CHECK_FALSE(config.tensorboard);
  CHECK(config.collective_timeout == 12.5);
}

TEST_CASE("a misspelt field of training is an error with a guess", "[runtime][config]") {
  CHECK(problems(training(R"("learning_rat": 0.1)")) ==
        "run.json: training.learning_rat: no such field\n  did you mean 'learning_rate'?");
}

TEST_CASE("all problems of run.json are told at once", "[runtime][config]") {
  auto text = training(R"("dropout": 1, "schedule": "cosin", "seed": "x", "tensorboard": 1)");
  text = with(text, R"("heads": 4)", R"("heads": 5)");
  text = with(text, R"("gpus": 4,)", "");
  text = with(text, R"("accumulate": 2)", R"("accumulate": 3)");
  const auto told = problems(text);
  INFO(told);
  CHECK(told.find("model.heads: hidden 128 does not divide into 5") != std::string::npos);
  CHECK(told.find("gpus: is missing") != std::string::npos);
  CHECK(told.find("global_batch: 8, but micro_batch 1 x accumulate 3 x data_parallel 4 = 12") !=
        std::string::npos);
  CHECK(told.find("training.dropout: is 1") != std::string::npos);
  CHECK(told.find("training.schedule: is 'cosin'\n  did you mean 'cosine'?") != std::string::npos);
  CHECK(told.find("training.seed: is \"x\"\n  use a whole number") != std::string::npos);
  CHECK(told.find("training.tensorboard: is 1\n  use true or false") != std::string::npos);
}

TEST_CASE("what is no run.json is refused", "[runtime][config]") {
  CHECK(problems("{\"version\": 1").find("not a JSON object") != std::string::npos);
  CHECK(problems("[]").find("not a JSON object") != std::string::npos);
  CHECK(problems(R"({"version": 2})").find("another version") != std::string::npos);
  CHECK(problems(with(kRun, "\"steps\": 20", "\"steps\": 18446744073709551615"))
            .find("steps: is 18446744073709551615") != std::string::npos);
  CHECK_FALSE(read_config("/nowhere/run.json"));
}

TEST_CASE("the learning rate's minimum is at most the rate", "[runtime][config]") {
  CHECK(problems(training(R"("learning_rate": 1e-3, "min_learning_rate": 1e-2)"))
            .find("training.min_learning_rate: is 0.01") != std::string::npos);
  // A default does not stand in the way of a small rate.
  CHECK(parsed(training(R"("learning_rate": 1e-5)")).training.min_learning_rate == 1e-5);
}

TEST_CASE("a ramp-up divides among the ranks at every step", "[runtime][config]") {
  const auto ramped = [](const std::string& rampup) {
    return with(kRun, R"("rampup": null)", R"("rampup": )" + rampup);
  };
  CHECK(parsed(ramped(R"({"start": 4, "step": 4, "samples": 40, "fewer_nodes": false})"))
            .rampup->samples == 40);
  CHECK(problems(ramped(R"({"start": 2, "step": 2, "samples": 40, "fewer_nodes": false})"))
            .find("not divisible by micro_batch x data_parallel = 4") != std::string::npos);
  CHECK(problems(ramped(R"({"start": 4, "step": 3, "samples": 40, "fewer_nodes": false})"))
            .find("steps of 3 from 4 do not lead to the global batch 8") != std::string::npos);
  CHECK(problems(ramped(R"({"start": 4})")).find("rampup.step: is missing") != std::string::npos);
}

// By hand: three increments, 100 samples at each batch of 4, 6 and 8.
TEST_CASE("the batch grows by equal shares of the ramp-up's samples", "[runtime][config]") {
  const auto config = ramp(4, 2, 300, 10);
  CHECK(config.batch_at(0) == 4);
  CHECK(config.batch_at(99) == 4);
  CHECK(config.batch_at(100) == 6);
  CHECK(config.batch_at(199) == 6);
  CHECK(config.batch_at(200) == 8);
  CHECK(config.batch_at(299) == 8);
  CHECK(config.batch_at(300) == 10);
  CHECK(config.batch_at(1'000'000) == 10);
  CHECK(ramp(4, 2, 0, 10).batch_at(0) == 10);
  CHECK(ramp(4, 2, 100'000'000'000, 2'000'004).batch_at(99'999'999'999) == 2'000'002);
}

// By hand: 25 steps of 4 (to 100), 17 of 6 (to 202), 13 of 8 (to 306), then tens.
TEST_CASE("all steps of a run follow from its tokens and ramp-up", "[runtime][config]") {
  auto config = ramp(4, 2, 300, 10);
  config.tokens = 306 * 100;
  CHECK(config.total_steps() == 55);
  config.tokens = 306 * 100 + 1;
  CHECK(config.total_steps() == 56);
  config.tokens = 1000 * 100;  // 694 samples left
  CHECK(config.total_steps() == 55 + 70);
  config.tokens = 50 * 100;  // within the ramp-up: 13 steps of 4
  CHECK(config.total_steps() == 13);
  config.rampup.reset();
  CHECK(config.total_steps() == 5);
  config.steps = 7;
  CHECK(config.total_steps() == 7);
}
