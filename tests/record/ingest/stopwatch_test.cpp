#include "core/record/ingest/series.h"
#include "tests/test.h"

namespace orch::ingest {

TEST_CASE("coarse moments are joined until they are exact to two per cent", "[ingest][stopwatch]") {
  // Steps take 0.7 s, and the clock shows whole seconds.
  LogStopwatch watch;
  for (int step = 1; step <= 1000; ++step) watch.tell(step, std::floor(1000 + 0.7 * step), 1);
  const auto times = watch.times();
  REQUIRE(times.steps().size() > 5);
  for (const auto& step : times.steps()) CHECK(std::abs(step.seconds / 0.7 - 1) < 0.02);
}

TEST_CASE("fine moments stand for themselves", "[ingest][stopwatch]") {
  LogStopwatch watch;
  watch.tell(10, 100.0, 1e-3);
  watch.tell(20, 115.0, 1e-3);
  watch.tell(30, 130.5, 1e-3);
  const auto times = watch.times();
  REQUIRE(times.steps().size() == 2);
  CHECK(times.steps()[0].seconds == 1.5);
  CHECK(times.steps()[1].seconds == 1.55);
}

TEST_CASE("a few coarse moments give one mean", "[ingest][stopwatch]") {
  LogStopwatch watch;
  CHECK(watch.times().steps().empty());
  for (int step = 1; step <= 5; ++step) watch.tell(step, 100 + 3 * step, 1);
  REQUIRE(watch.times().steps().size() == 1);
  CHECK(watch.times().steps()[0].seconds == 3);
}

TEST_CASE("what lies between two starts is no step", "[ingest][stopwatch]") {
  LogStopwatch watch;
  watch.tell(1, 1000, 1e-3);
  watch.tell(2, 1001, 1e-3);
  watch.start();
  watch.tell(3, 5000, 1e-3);
  watch.tell(4, 5001, 1e-3);
  const auto times = watch.times();
  for (const auto& step : times.steps()) CHECK(step.seconds == 1);
  CHECK(times.steps().size() == 2);
}

}  // namespace orch::ingest
