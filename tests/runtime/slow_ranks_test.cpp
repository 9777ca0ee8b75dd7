#include "backends/runtime/loop/slow_ranks.h"

#include <catch2/catch_test_macros.hpp>

namespace orch::train {
namespace {

using Seconds = std::vector<double>;

// Looks at the same seconds in these steps; returns what the last of them told.
std::vector<SlowRank> look(SlowRanks& ranks, std::int64_t first, std::int64_t last,
                           const Seconds& seconds) {
  std::vector<SlowRank> told;
  for (auto step = first; step <= last; ++step) told = ranks.look(step, seconds);
  return told;
}

TEST_CASE("a rank that computes longer is told after five looks, with the step it began") {
  SlowRanks ranks({0, 0, 0, 0});
  CHECK(look(ranks, 1, 20, {1, 1.02, 0.99, 1}).empty());
  CHECK(look(ranks, 21, 22, {1, 1, 1.2, 1}).empty());
  const auto told = look(ranks, 23, 23, {1, 1, 1.2, 1});  // three of five
  REQUIRE(told.size() == 1);
  CHECK(told[0].rank == 2);
  CHECK(told[0].seconds == 1.2);
  CHECK(told[0].typical == 1);
  CHECK(told[0].since == 19);
  CHECK_FALSE(told[0].over);
}

TEST_CASE("one long step is noise") {
  SlowRanks ranks({0, 0, 0});
  look(ranks, 1, 10, {1, 1, 1});
  CHECK(look(ranks, 11, 11, {1, 9, 1}).empty());
  CHECK(look(ranks, 12, 12, {1, 1, 1}).empty());
}

TEST_CASE("when it is over, that is told once") {
  SlowRanks ranks({0, 0});
  CHECK(look(ranks, 1, 5, {1, 1.5}).size() == 1);
  look(ranks, 6, 7, {1, 1});
  const auto told = look(ranks, 8, 8, {1, 1});
  REQUIRE(told.size() == 1);
  CHECK(told[0].over);
  CHECK(told[0].rank == 1);
  CHECK(look(ranks, 9, 30, {1, 1}).empty());
}

TEST_CASE("ranks of other pipeline stages have other work, and one alone is not slow") {
  SlowRanks stages({0, 0, 1, 1, 2});
  CHECK(look(stages, 1, 30, {1, 1, 2, 2, 5}).empty());
  const auto told = look(stages, 31, 33, {1, 1, 2, 3, 5});
  REQUIRE(told.size() == 1);
  CHECK(told[0].rank == 3);
  CHECK(told[0].typical == 2);
}

TEST_CASE("what stays slow is told again now and then") {
  SlowRanks ranks({0, 0});
  std::size_t told = 0;
  for (std::int64_t step = 1; step <= 50; ++step) told += ranks.look(step, {1, 2}).size();
  CHECK(told > 5);
  CHECK(told < 30);
}

}  // namespace
}  // namespace orch::train
