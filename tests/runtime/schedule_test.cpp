#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "backends/runtime/step/optimizer.h"

using namespace orch::train;
using Catch::Approx;

namespace {

constexpr std::int64_t kSteps = 110;  // of the run

orch::plan::Training options(const std::string& schedule) {
  orch::plan::Training training;
  training.schedule = schedule;
  training.learning_rate = 1.0;
  training.min_learning_rate = 0.2;
  training.warmup_steps = 10;
  training.decay_steps = 0;
  return training;
}

}  // namespace

TEST_CASE("warm-up is linear from zero", "[runtime][schedule]") {
  for (const auto* schedule : {"cosine", "linear", "constant"}) {
    CHECK(learning_rate_at(options(schedule), kSteps, 1) == Approx(0.1));
    CHECK(learning_rate_at(options(schedule), kSteps, 5) == Approx(0.5));
    CHECK(learning_rate_at(options(schedule), kSteps, 10) == 1.0);
  }
}

// By hand: half-way at step 60, a quarter of the way at 35 (cos 45 degrees).
TEST_CASE("cosine goes from the rate to its minimum", "[runtime][schedule]") {
  const auto cosine = options("cosine");
  CHECK(learning_rate_at(cosine, kSteps, 60) == Approx(0.6));
  CHECK(learning_rate_at(cosine, kSteps, 35) == Approx(0.2 + 0.8 * (1 + 0.70710678) / 2));
  CHECK(learning_rate_at(cosine, kSteps, 110) == Approx(0.2));
  CHECK(learning_rate_at(cosine, kSteps, 100'000) == 0.2);
}

TEST_CASE("linear goes straight, constant not at all", "[runtime][schedule]") {
  CHECK(learning_rate_at(options("linear"), kSteps, 35) == Approx(0.8));
  CHECK(learning_rate_at(options("linear"), kSteps, 60) == Approx(0.6));
  CHECK(learning_rate_at(options("linear"), kSteps, 110) == Approx(0.2));
  CHECK(learning_rate_at(options("linear"), kSteps, 111) == Approx(0.2));
  CHECK(learning_rate_at(options("constant"), kSteps, 60) == 1.0);
  CHECK(learning_rate_at(options("constant"), kSteps, 100'000) == 1.0);
}

TEST_CASE("without warm-up the first step is almost at the full rate", "[runtime][schedule]") {
  auto linear = options("linear");
  linear.warmup_steps = 0;
  linear.decay_steps = 100;
  CHECK(learning_rate_at(linear, kSteps, 1) == Approx(0.992));
  linear.decay_steps = 1;
  CHECK(learning_rate_at(linear, kSteps, 1) == 0.2);
  linear.schedule = "cosin";
  linear.decay_steps = 100;
  CHECK_THROWS_AS(learning_rate_at(linear, kSteps, 1), std::invalid_argument);
}

TEST_CASE("the loss scale halves on overflow and doubles after good steps", "[runtime][schedule]") {
  LossScale scale(true, 1024, 3);
  scale.update(false);
  scale.update(false);
  CHECK(scale.scale() == 1024);
  scale.update(false);
  CHECK(scale.scale() == 2048);
  scale.update(false);
  scale.update(false);
  scale.update(true);
  CHECK(scale.scale() == 1024);
  scale.update(false);
  scale.update(false);
  CHECK(scale.scale() == 1024);  // counted again after the overflow
  scale.update(false);
  CHECK(scale.scale() == 2048);
}

TEST_CASE("before its first overflow the loss scale rises every ten steps", "[runtime][schedule]") {
  LossScale scale(true, 1024, 1000);
  for (int step = 0; step < 30; ++step) scale.update(false);
  CHECK(scale.scale() == 8 * 1024);
  LossScale resumed(true, 1, 1000);
  resumed.restore(scale.state());
  for (auto* one : {&scale, &resumed}) {
    for (int step = 0; step < 10; ++step) one->update(false);
    CHECK(one->scale() == 16 * 1024);
    one->update(true);
    for (int step = 0; step < 999; ++step) one->update(false);
    CHECK(one->scale() == 8 * 1024);
    one->update(false);
    CHECK(one->scale() == 16 * 1024);
  }
}

TEST_CASE("a loss scale below one is exhausted", "[runtime][schedule]") {
  LossScale scale(true, 2, 1000);
  scale.update(true);
  CHECK_FALSE(scale.is_exhausted());
  scale.update(true);
  CHECK(scale.is_exhausted());
}

TEST_CASE("a loss scale goes on from a checkpoint", "[runtime][schedule]") {
  LossScale scale(true, 1024, 3), resumed(true, 1, 3);
  scale.update(false);
  scale.update(false);
  resumed.restore(scale.state());
  resumed.update(false);
  CHECK(resumed.scale() == 2048);
}

TEST_CASE("without fp16 the loss scale is one for ever", "[runtime][schedule]") {
  LossScale scale(false, 1024, 1);
  scale.update(true);
  scale.update(false);
  scale.restore({64, 0, false});
  CHECK(scale.scale() == 1);
  CHECK_FALSE(scale.is_exhausted());
}
