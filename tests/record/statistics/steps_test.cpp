#include "core/record/statistics/steps.h"

#include <ctime>

#include "tests/test.h"

namespace orch::statistics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Adds a start at a step, with the durations of its steps.
void start(std::vector<TimedStep>& steps, std::int64_t at, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i)
    steps.push_back({at + static_cast<std::int64_t>(i), seconds[i], i == 0});
}

std::vector<TimedStep> one_start(const std::vector<double>& seconds) {
  std::vector<TimedStep> steps;
  start(steps, 1, seconds);
  return steps;
}

// About one second, varying by a percent.
std::vector<double> steady(std::size_t n) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < n; ++i) seconds.push_back(0.99 + 0.01 * static_cast<double>(i % 3));
  return seconds;
}

TEST_CASE("the first step after a start does not count", "[statistics][steps]") {
  auto seconds = steady(49);
  seconds[0] = 60;
  const auto found = step_times(one_start(seconds));
  CHECK(found.seconds.value == 1.0);
  CHECK(found.seconds.n == 48);
  CHECK(*found.seconds.low == 1.0);  // the 17th of 48, of which 16 are 0.99
  CHECK(*found.seconds.high == 1.0);
  CHECK(found.window.first == 2);
  CHECK(found.window.last == 49);
  CHECK(found.window.used == 48);
  CHECK(found.window.warmup == 1);
  CHECK(found.window.rule == "step 1 dropped (first after a start); 48 steps used: 2 to 49");
  CHECK(found.odd.empty());
}

TEST_CASE("slow steps right after the first do not count either", "[statistics][steps]") {
  auto seconds = steady(20);
  seconds[0] = 60;
  seconds[1] = 3;
  seconds[2] = 1.5;
  seconds[4] = 1.5;  // not right after
  const auto found = step_times(one_start(seconds));
  CHECK(found.window.warmup == 3);
  CHECK(found.window.first == 4);
  CHECK(found.window.rule ==
        "3 steps dropped (first after a start: 1; slow ones after it: 2, 3); "
        "17 steps used: 4 to 20");
  REQUIRE(found.odd.size() == 1);
  CHECK(found.odd[0].step == 5);
  CHECK(found.odd[0].factor == Approx(1.5));
}

TEST_CASE("at least a half of the steps stays", "[statistics][steps]") {
  const auto found = step_times(one_start({9, 8, 7, 6, 5, 4, 3, 1, 1, 1}));
  CHECK(found.window.warmup == 5);
  CHECK(found.window.used == 5);
  CHECK(found.seconds.value == 1);
}

TEST_CASE("every restart warms up again", "[statistics][steps]") {
  std::vector<TimedStep> steps;
  auto seconds = steady(10);
  seconds[0] = 30;
  start(steps, 1, seconds);
  start(steps, 11, seconds);
  start(steps, 16, seconds);  // went back to a checkpoint
  const auto found = step_times(steps);
  CHECK(found.window.warmup == 3);
  CHECK(found.window.used == 27);
  CHECK(found.window.last == 25);
  CHECK(found.odd.empty());
  CHECK(found.window.rule ==
        "3 steps dropped (first after a start: 1, 11, 16); 27 steps used: 2 to 25");
}

TEST_CASE("a start that is slower to the end is not all warm-up", "[statistics][steps]") {
  std::vector<TimedStep> steps;
  start(steps, 1, std::vector<double>(20, 1.0));
  start(steps, 21, std::vector<double>(20, 1.5));
  CHECK(step_times(steps).window.warmup == 2);
}

TEST_CASE("a log that begins in the middle has no warm-up", "[statistics][steps]") {
  const auto found = step_times({{500, 1.0, false}, {501, 1.2, false}, {502, 1.1, false}});
  CHECK(found.window.rule == "nothing dropped; 3 steps used: 500 to 502");
  CHECK(found.seconds.value == Approx(1.1));
}

TEST_CASE("very short runs say what little they know", "[statistics][steps]") {
  const auto none = step_times({});
  CHECK(none.seconds.n == 0);
  CHECK(none.window.rule == "no steps");

  const auto one = step_times(one_start({7}));
  CHECK(one.seconds.value == 7);
  CHECK_FALSE(one.seconds.has_limits());
  CHECK(one.window.rule == "nothing dropped; 1 step used: 1");

  const auto two = step_times(one_start({60, 2}));
  CHECK(two.seconds.value == 2);
  CHECK_FALSE(two.seconds.has_limits());
  CHECK(two.window.rule == "step 1 dropped (first after a start); 1 step used: 2");

  std::vector<TimedStep> starts;  // that never reach a second step
  start(starts, 1, {40});
  start(starts, 1, {50});
  CHECK(step_times(starts).seconds.value == 45);
  CHECK(step_times(starts).window.warmup == 0);
}

TEST_CASE("a slow node's steps are reported, the worst first, and the median bears them",
          "[statistics][steps]") {
  auto seconds = steady(300);
  for (std::size_t i = 9; i < seconds.size(); i += 10) seconds[i] = 2 + static_cast<double>(i);
  const auto found = step_times(one_start(seconds));
  CHECK(found.seconds.value == Approx(1).epsilon(0.011));
  CHECK(found.window.warmup == 1);
  CHECK(found.odd_count == 30);
  REQUIRE(found.odd.size() == 20);
  CHECK(found.odd[0].step == 300);
  CHECK(found.odd[0].seconds == 301);
  CHECK(found.odd[1].step == 290);
}

TEST_CASE("equal steps have no outliers, nor have those that differ by less than 5 %",
          "[statistics][steps]") {
  const auto equal = step_times(one_start(std::vector<double>(30, 2.5)));
  CHECK(equal.seconds.value == 2.5);
  CHECK(*equal.seconds.low == 2.5);
  CHECK(*equal.seconds.high == 2.5);
  CHECK(equal.odd_count == 0);
  auto nearly = std::vector<double>(30, 2.5);
  nearly[10] = 2.6;
  nearly[20] = 1;  // fast ones are outliers too
  const auto found = step_times(one_start(nearly));
  REQUIRE(found.odd_count == 1);
  CHECK(found.odd[0].step == 21);
  CHECK(found.odd[0].factor == Approx(0.4));
}

TEST_CASE("steps without a valid time are left out", "[statistics][steps]") {
  auto steps = one_start({9, 1, kNan, 1, kInf, 1, -3, 1, 0});
  const auto found = step_times(steps);
  CHECK(found.seconds.value == 1);
  CHECK(found.window.used == 4);
  CHECK(found.window.rule ==
        "step 1 dropped (first after a start); 4 steps used: 2 to 8; 4 without a valid time");
  CHECK(step_times({{1, kNan, true}}).window.rule == "no step with a valid time");
  steps[0].seconds = kNan;  // it was the first, even so
  CHECK(step_times(steps).window.warmup == 0);
}

TEST_CASE("a million steps take no time worth mentioning", "[statistics][steps]") {
  std::vector<TimedStep> steps;
  for (std::int64_t i = 0; i < 1000000; ++i)
    steps.push_back({i, 1 + 1e-3 * static_cast<double>(i * 7919 % 1000), i % 100 == 0});
  const auto before = std::clock();
  const auto found = step_times(steps);
  const auto took = std::clock() - before;
  CHECK(found.window.warmup == 10000);
  CHECK(took < 5 * CLOCKS_PER_SEC);  // a quadratic algorithm would take hours
}

TEST_CASE("odd nodes are found by their place", "[statistics][steps]") {
  CHECK(outliers({10, 10.1, 9.9, 10, 13, 10}) == std::vector<std::size_t>{4});
  CHECK(outliers({10, kNan, 10, 10, 5, 10}) == std::vector<std::size_t>{4});
  CHECK(outliers({10, 10, 10, 10.2}).empty());  // 2 %
  CHECK(outliers({10, 10, 10, 10.2}, 0.01) == std::vector<std::size_t>{3});
  CHECK(outliers({10, 10, 20}).empty());
  CHECK(outliers({1, 2, 3, 4, 5, 6}).empty());
  CHECK(outliers({}).empty());
}

}  // namespace
}  // namespace orch::statistics
