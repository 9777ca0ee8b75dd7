// Variations that must not change a training, or not by a bit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "tests/trainers/trainer.h"

using namespace orch::test;

// Other cases fork their ranks.
TEST_CASE("ranks that were forked train as programs that were started, to the bit", "[train]") {
  for (auto json : {small_run(2), megatron_run(2, 2, 1), zero_run("zero3", 2)}) {
    json["steps"] = 6;
    TrainerRun run(json);
    AttemptOptions options;
    options.started = true;
    const auto started = run.attempt(options);
    INFO(started.output);
    REQUIRE(started.ok());
    const auto forked = train(json);
    CHECK(forked.losses == run.losses());
    CHECK(forked.weights == run.weights());
  }
}

TEST_CASE("what is not a number is far from everything", "[train]") {
  const std::vector<float> none = {0, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    auto one = none;
    one[i] = NAN;
    CHECK_FALSE(distance(one, none) < 1e30);
    CHECK_FALSE(distance({{"w", none}, {"x", one}}, {{"w", none}, {"x", none}}) < 1e30);
    CHECK_FALSE(worst_loss({{{1, 2.0}, {2, NAN}}, {}}, {{{1, 2.0}, {2, 2.0}}, {}}) < 1e30);
  }
}

TEST_CASE("accumulation is a larger batch", "[train]") {
  auto small = small_run(2), large = small_run(2);  // 2 x 2 x 2
  large["micro_batch"] = 4;
  large["accumulate"] = 1;
  const auto a = train(small), b = train(large);
  CHECK(worst_loss(a, b) < 1e-6);
  CHECK(distance(a.weights, b.weights) < 1e-6);
}

TEST_CASE("recomputation changes no bit, dropout included", "[train]") {
  auto json = small_run(2);
  json["training"]["dropout"] = 0.1;
  json["training"]["attention_dropout"] = 0.1;
  const auto plain = train(json);
  for (const auto* recompute : {"selective", "full"}) {
    INFO(recompute);
    json["settings"]["recompute"] = recompute;
    CHECK(train(json) == plain);
  }
}

TEST_CASE("dropout is the same on one rank and on four", "[train]") {
  auto one = small_run(1), four = small_run(4);
  one["training"]["dropout"] = four["training"]["dropout"] = 0.2;
  const auto a = train(one), b = train(four);
  CHECK(worst_loss(a, b) < 1e-6);
  CHECK(distance(a.weights, b.weights) < 1e-6);
}

TEST_CASE("delays before collectives change no bit", "[train]") {
  auto json = small_run(4);
  json["settings"]["compression"] = GENERATE("none", "powersgd");
  const auto plain = train(json);
  AttemptOptions slow;
  slow.environment = {{"ORCH_TEST_JITTER_MS", "5"}, {"ORCH_TEST_JITTER_SEED", "3"}};
  CHECK(train(json, slow) == plain);
}

TEST_CASE("buckets, overlap and views are a matter of speed alone", "[train]") {
  const auto plain = train(small_run(2));
  auto json = small_run(2);
  json["settings"]["bucket_mb"] = 25;
  CHECK(train(json) == plain);
  json["settings"]["overlap"] = false;
  CHECK(train(json) == plain);
  json["settings"]["gradient_as_bucket_view"] = false;
  CHECK(train(json) == plain);
}
