#include "core/run/follow/backoff.h"

#include <catch2/catch_test_macros.hpp>

#include "fakes.h"

namespace orch::follow {

TEST_CASE("back-off doubles up to a minute and ends with the patience") {
  FollowFolder place;
  Backoff backoff(place.clock, 200);
  std::vector<double> at;
  const auto world = place.world();
  while (backoff.wait(world)) at.push_back(place.clock.time);
  REQUIRE(at.size() == 9);
  const double sums[] = {1, 3, 7, 15, 31, 63, 123, 183, 200};
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::abs(at[i] - sums[i]) < 1);
}

TEST_CASE("back-off ends at once when someone presses Ctrl-C") {
  FollowFolder place;
  Backoff backoff(place.clock, 1000);
  place.clock.on_sleep = [&] { place.interrupted = true; };
  CHECK_FALSE(backoff.wait(place.world()));
  CHECK(place.clock.slept < 1);
}

TEST_CASE("polls come slower while nothing happens, at once after a change") {
  PollInterval pace({1, 30});
  CHECK(pace.next(true, 0.01) == 1);
  double last = 1;
  for (int i = 0; i < 12; ++i) {
    const double next = pace.next(false, 0.01);
    CHECK(next >= last);
    last = next;
  }
  CHECK(last == 30);
  CHECK(pace.next(true, 0.01) == 1);
}

TEST_CASE("a scheduler that is slow to answer is asked less often") {
  PollInterval pace({1, 30});
  CHECK(pace.next(true, 2.0) == 1);
  CHECK(pace.next(true, 2.0) == 40);  // a twentieth of the time at most
  pace.next(true, 60.0);
  CHECK(pace.next(true, 60.0) == 300);  // but every five minutes
}

TEST_CASE("one slow answer does not make us blind") {
  PollInterval pace({1, 30});
  CHECK(pace.next(true, 0.01) == 1);
  CHECK(pace.next(true, 15.0) == 1);
  CHECK(pace.next(true, 0.01) == 1);
}

}  // namespace orch::follow
