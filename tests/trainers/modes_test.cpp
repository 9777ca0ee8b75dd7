// Each way of training, from its first step to its last.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/train/data/entropy.h"
#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;

namespace {

nlohmann::ordered_json learning_run() {
  auto json = small_run(2);
  json["steps"] = 60;
  json["training"]["learning_rate"] = 5e-3;
  return json;
}

// The loss falls, but not below the entropy.
void check_learns(const TrainerRun& run) {
  const auto losses = run.losses();
  REQUIRE(losses.size() == 60);
  CHECK(losses.at(1) > 4.0);  // ln 100 = 4.6, plus the effect of large initial weights
  CHECK(losses.at(60) < losses.at(1) - 0.5);
  CHECK(losses.at(60) > data::synthetic_entropy(100) - 0.5);  // 128 tokens: some noise
}

}  // namespace

TEST_CASE("every optimizer, type and compression learns", "[train]") {
  auto json = learning_run();
  const auto mode = GENERATE(as<std::string>(), "adafactor", "bf16", "fp16", "bf16 without masters",
                             "powersgd", "fp16 compression", "bf16 compression");
  INFO(mode);
  auto& settings = json["settings"];
  if (mode == "adafactor") settings["optimizer"] = "adafactor";
  if (mode.starts_with("bf16") && mode.find("compression") == std::string::npos)
    settings["dtype"] = "bf16";
  if (mode == "fp16") settings["dtype"] = "fp16";
  if (mode == "bf16 without masters") settings["master_weights"] = false;
  if (mode == "powersgd") settings["compression"] = "powersgd";
  if (mode == "fp16 compression") settings["compression"] = "fp16";
  if (mode == "bf16 compression") settings["compression"] = "bf16";
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  check_learns(run);
}

TEST_CASE("a compressed training sends what it should", "[train]") {
  auto json = learning_run();
  json["steps"] = 10;
  const auto sent = [&](const char* compression) {
    json["settings"]["compression"] = compression;
    TrainerRun run(json);
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
    return attempt.event("step").at("communicated_bytes").get<double>();
  };
  const double plain = sent("none"), half = sent("fp16"), power = sent("powersgd");
  // Two layers of 12 h^2 + 13 h, 100 words padded to 128, 16 positions, and the last norm: each
  // parameter at a multiple of 64; beside them a few bytes per step for the loss.
  CHECK(plain > 10 * 4 * (2 * (12 * 32 * 32 + 13 * 32) + 144 * 32 + 2 * 32));
  CHECK(plain < 1.1 * 10 * 4 * (2 * (12 * 32 * 32 + 13 * 32) + 144 * 32 + 2 * 32));
  CHECK(half > 0.5 * plain);
  CHECK(half < 0.52 * plain);
  CHECK(power < 0.4 * plain);  // two steps of ten are plain, and vectors always
}

TEST_CASE("the batch ramps up", "[train]") {
  auto json = small_run(2);
  json["rampup"] = {{"start", 4}, {"step", 4}, {"samples", 40}, {"fewer_nodes", false}};
  json["steps"] = 10;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  // 4 at a time for the first 40 samples, then 8: ten steps are 40 samples of 16 tokens.
  CHECK(attempt.event("step").at("tokens") == 40 * 16);
}

TEST_CASE("held-out data is evaluated, and all is told", "[train]") {
  auto json = learning_run();
  json["training"]["evaluate_every"] = 20;
  json["training"]["evaluate_batches"] = 4;
  json["training"]["checkpoint_every"] = 30;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  REQUIRE(attempt.ok());
  std::vector<double> losses;
  int checkpoints = 0;
  for (const auto& event : attempt.events()) {
    if (event.at("event") == "evaluation") losses.push_back(event.at("loss"));
    if (event.at("event") == "checkpoint") ++checkpoints;
  }
  REQUIRE(losses.size() == 3);
  CHECK(losses[2] < losses[0]);
  CHECK(checkpoints == 2);
  const auto start = attempt.event("start");
  CHECK(start.at("ranks") == 2);
  // 2 (12 h^2 + 13 h) + V h + s h + 2 h with h = 32.
  CHECK(start.at("parameters") == 2 * (12 * 1024 + 13 * 32) + 116 * 32 + 64);
  const auto profile = attempt.event("profile");
  double sum = 0;
  for (const auto& [item, seconds] : profile.at("time_items").items()) sum += seconds.get<double>();
  CHECK(sum > 0);
  CHECK(profile.at("time_items").contains("MLP up"));
  CHECK(profile.at("memory_items").at("weights") == profile.at("memory_items").at("gradients"));
  CHECK(fs::exists(attempt.folder / "tensorboard"));
  CHECK(attempt.output.find(" iteration ") != std::string::npos);
}

TEST_CASE("held-out data has the same loss in every layout", "[train][megatron][zero]") {
  const auto evaluated = [](nlohmann::ordered_json json) {
    json["steps"] = 2;
    json["training"]["evaluate_every"] = 2;
    json["training"]["evaluate_batches"] = 3;
    TrainerRun run(json);
    const auto attempt = run.attempt();
    INFO(attempt.output);
    REQUIRE(attempt.ok());
    return attempt.event("evaluation").at("loss").get<double>();
  };
  const double alone = evaluated(ddp_run(1));
  for (const auto& json : {ddp_run(2), megatron_run(1, 2, 2), zero_run("zero3", 2),
                           zero_run("deepspeed", 2, {{"stage", 1}})}) {
    CAPTURE(json.at("strategy"), json.at("gpus"));
    CHECK(std::abs(evaluated(json) - alone) < 1e-5);
  }
}
