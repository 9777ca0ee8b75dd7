#include "core/plan/training.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/runtime/loop/config.h"
#include "core/plan/check.h"
#include "core/plan/run_json.h"
#include "tests/plan/support.h"

using namespace orch;
using namespace orch::plan;

namespace {

using Json = nlohmann::ordered_json;

Result<Run> read(const Json& json, const Run& like) {
  return parse_run_json(json.dump(), "run.json", {like.strategy}, [&](std::string_view) {
    return Result<std::shared_ptr<const Cluster>>(like.cluster);
  });
}

// The only thing that is wrong, or the mistake of the test.
Error only(const Errors& errors) {
  REQUIRE(errors.size() == 1);
  return errors.front();
}

}  // namespace

TEST_CASE("the defaults are those that a trainer assumes", "[plan][training]") {
  const Training ours;
  const train::Training theirs;
  CHECK(ours.learning_rate == theirs.learning_rate);
  CHECK(ours.min_learning_rate == theirs.min_learning_rate);
  CHECK(ours.schedule == theirs.schedule);
  CHECK(ours.warmup_steps == theirs.warmup_steps);
  CHECK(ours.decay_steps == theirs.decay_steps);
  CHECK(ours.weight_decay == theirs.weight_decay);
  CHECK(ours.beta1 == theirs.beta1);
  CHECK(ours.beta2 == theirs.beta2);
  CHECK(ours.epsilon == theirs.epsilon);
  CHECK(ours.clip == theirs.clip);
  CHECK(ours.dropout == theirs.dropout);
  CHECK(ours.attention_dropout == theirs.attention_dropout);
  CHECK(ours.init_std == theirs.init_std);
  CHECK(ours.seed == theirs.seed);
  CHECK(ours.loss_scale == theirs.loss_scale);
  CHECK(ours.loss_scale_window == theirs.loss_scale_window);
  CHECK(ours.data == theirs.data);
  CHECK(ours.split == theirs.split);
  CHECK(ours.evaluate_every == theirs.evaluate_every);
  CHECK(ours.evaluate_batches == theirs.evaluate_batches);
  CHECK(ours.checkpoint_every == theirs.checkpoint_every);
  CHECK(ours.keep_checkpoints == theirs.keep_checkpoints);
  CHECK(ours.init == theirs.init);
  CHECK(ours.log_every == theirs.log_every);
  CHECK(ours.tensorboard == theirs.tensorboard);
  CHECK(ours.collective_timeout == theirs.collective_timeout);
}

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
  run.training.clip = 2;  // written without a point
  run.training.seed = 7;
  run.training.schedule = "linear";
  run.training.data = "/corpus/x";
  run.training.tensorboard = false;
  const auto json = run_json(run);
  const auto again = read(Json::parse(json), run);
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
  CHECK(read(json, run)->training.clip == 1.0);
  CHECK(read(json, run)->training.seed == 9);
  json.erase("training");
  REQUIRE(read(json, run));
  CHECK(read(json, run)->training == Training{});
}

TEST_CASE("a damaged section in run.json is an error with its place", "[plan][training]") {
  const auto run = test::run();
  auto json = Json::parse(run_json(run));
  json["training"]["beta1"] = "much";
  const auto wrong = read(json, run);
  REQUIRE_FALSE(wrong);
  CHECK(only(wrong.error()).place == "run.json: training.beta1");
}

TEST_CASE("rates that rise, splits that hold nothing out, and dropout of all are refused",
          "[plan][training]") {
  Training training;
  training.learning_rate = 1e-5;  // the minimum stays 3e-5
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
