#include "core/plan/training.h"

#include <nlohmann/json.hpp>

#include "core/plan/check.h"
#include "core/plan/run_json.h"
#include "tests/plan/support.h"
#include "tests/test.h"

using namespace orch;
using namespace orch::plan;

namespace {

using Json = nlohmann::ordered_json;

// As if written by hand: a document written by orch must not be changed.
Result<Run> read(Json json) {
  json.erase("checksum");
  return parse_run(json.dump(), "run.json");
}

// The only error; the test fails if there are others.
Error only(const Errors& errors) {
  REQUIRE(errors.size() == 1);
  return errors.front();
}

}  // namespace

TEST_CASE("every field has a name of its own, a meaning, and a default within its limits",
          "[plan][training]") {
  std::set<std::string> names;
  for (const auto& field : training_fields()) {
    INFO(field.param.name);
    CHECK(names.insert(field.param.name).second);
    CHECK_FALSE(field.param.doc.empty());
    CHECK(conform(field.param, field.param.default_value, "here"));
    CHECK(find_training_field(field.param.name) == &field);
  }
  CHECK(names.size() == 26);
  CHECK(find_training_field("learning_rat") == nullptr);
  CHECK(check_training({}, "training").empty());
  CHECK(changes({}).empty());
}

TEST_CASE("run.json holds all of training, and reads back", "[plan][training]") {
  auto run = test::run();
  const auto plain = Json::parse(run_json(run))["training"];
  CHECK(plain.size() == 26);
  CHECK(plain["beta2"] == 0.95);
  CHECK(plain["schedule"] == "cosine");
  CHECK(plain["tensorboard"] == true);
  run.training.learning_rate = 1e-3;
  run.training.clip = 2;  // written without a decimal point
  run.training.seed = 7;
  run.training.schedule = "linear";
  run.training.data = "/corpus/x";
  run.training.tensorboard = false;
  const auto json = run_json(run);
  const auto again = read(Json::parse(json));
  REQUIRE(again);
  CHECK(again->training == run.training);
  CHECK(changes(again->training) ==
        "learning_rate = 0.001, schedule = 'linear', clip = 2, seed = 7, data = '/corpus/x', "
        "tensorboard = false");
}

TEST_CASE("a run.json from before training means the defaults", "[plan][training]") {
  const auto run = test::run();
  auto json = Json::parse(run_json(run));
  json["training"].erase("clip");
  json["training"]["seed"] = 9;
  CHECK(read(json)->training.clip == 1.0);
  CHECK(read(json)->training.seed == 9);
  json.erase("training");
  REQUIRE(read(json));
  CHECK(read(json)->training == Training{});
}

TEST_CASE("a damaged section in run.json is an error with its place", "[plan][training]") {
  const auto run = test::run();
  auto json = Json::parse(run_json(run));
  json["training"]["beta1"] = "much";
  const auto wrong = read(json);
  REQUIRE_FALSE(wrong);
  CHECK(only(wrong.error()).place == "run.json: training.beta1");
}

TEST_CASE("rates that rise, splits that hold nothing out, and dropout of all are refused",
          "[plan][training]") {
  Training training;
  training.learning_rate = 1e-5;  // below the minimum of 3e-5
  CHECK(only(check_training(training, "training")).place == "training.min_learning_rate");
  training.schedule = "constant";  // which has no minimum
  CHECK(check_training(training, "training").empty());
  training = {};
  training.decay_steps = 10;
  training.warmup_steps = 11;
  CHECK(only(check_training(training, "training")).place == "training.warmup_steps");
  training = {};
  training.evaluate_every = 10;
  training.split = "1,0,0";
  CHECK(only(check_training(training, "training")).place == "training.evaluate_every");
  training.split = "9, 1, 0";
  CHECK(check_training(training, "training").empty());
  for (const char* split : {"", "1,2", "1,2,3,4", "a,b,c", "1,-1,1", "0,0,0", "1,nan,1"}) {
    training = {};
    training.split = split;
    CHECK(only(check_training(training, "training")).place == "training.split");
  }
  training = {};
  training.dropout = 1;
  training.attention_dropout = 1;
  CHECK(check_training(training, "training").size() == 2);
}

TEST_CASE("an interval of checkpoints of which none is kept is refused", "[plan][training]") {
  Training training;
  training.keep_checkpoints = 0;
  CHECK(check_training(training, "training").empty());
  training.checkpoint_every = 5;
  const auto errors = check_training(training, "training");
  REQUIRE(errors.size() == 1);
  CHECK(text(errors) ==
        "training.keep_checkpoints: 0 writes no checkpoints, but checkpoint_every is 5\n"
        "  keep at least one, or leave checkpoint_every out");
}

TEST_CASE("a warm-up longer than the training is refused, longer than the job unwise",
          "[plan][training]") {
  auto run = test::run();
  run.tokens = 100 * run.tokens_per_step();
  std::vector<Error> reasons, warnings;
  const auto check_with = [&](std::int64_t warmup, std::int64_t steps) {
    run.training.warmup_steps = warmup;
    run.steps = steps;
    reasons.clear();
    warnings.clear();
    check(run, {}, reasons, warnings);
    return std::pair(reasons.size(), warnings.size());
  };
  CHECK(check_with(100, 0) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(check_with(101, 0) == std::pair<std::size_t, std::size_t>(1, 0));
  CHECK(reasons.front().place == "training.warmup_steps");
  CHECK(check_with(50, 50) == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(check_with(51, 50) == std::pair<std::size_t, std::size_t>(0, 1));
  CHECK(warnings.front().place == "training.warmup_steps");
}

TEST_CASE("a ramp-up takes more steps for the same tokens", "[plan][training]") {
  auto run = test::run();
  run.model.seq = 10;
  run.batch.global_batch = 4;
  run.tokens = 10 * 100;  // 100 samples: 25 steps of 4
  CHECK(run.steps_of_all_tokens() == 25);
  // 24 samples at a batch of 2 and 24 at 3 are 12 + 8 steps, the other 52 are 13.
  run.batch.rampup = RampUp{2, 1, 48, false};
  CHECK(run.steps_of_all_tokens() == 33);
}

TEST_CASE("a small rate without a minimum is its own", "[plan][training]") {
  auto json = Json::parse(run_json(test::run()));
  json["training"] = {{"learning_rate", 1e-5}};
  REQUIRE(read(json));
  CHECK(read(json)->training.min_learning_rate == 1e-5);
  json["training"]["min_learning_rate"] = 1e-4;
  CHECK(only(read(json).error()).place == "run.json: training.min_learning_rate");
  json["training"] = {{"learning_rat", 1e-5}};
  CHECK(only(read(json).error()).fix == "did you mean 'learning_rate'?");
}
