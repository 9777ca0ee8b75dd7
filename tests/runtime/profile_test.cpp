#include "backends/runtime/model/profile.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

using namespace orch::train;

namespace {

// Busy, not asleep: a sleep may be longer than requested, this is at least as long.
void spend(double milliseconds) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

double total(const std::map<std::string, double>& items) {
  double sum = 0;
  for (const auto& [item, seconds] : items) sum += seconds;
  return sum;
}

}  // namespace

TEST_CASE("time goes to the innermost scope and to nothing outside", "[runtime][profile]") {
  Profile profile(false);
  double whole = 0;
  for (int step = 0; step < 3; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    profile.begin_step(false);
    {
      const Profile::Scope outer(&profile, "outer");
      spend(2);
      {
        const Profile::Scope inner(&profile, "inner");
        spend(20);
      }
      spend(2);
    }
    spend(30);
    profile.end_step();
    if (step > 0)
      whole += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 2;
  }
  const auto items = profile.seconds_per_step();
  CHECK(profile.steps() == 2);
  REQUIRE(items.size() == 2);
  CHECK(items.at("outer") >= 0.004);
  CHECK(items.at("inner") >= 0.020);
  // No time counts twice, and the 30 ms outside not at all.
  CHECK(total(items) <= whole - 0.030);
}

TEST_CASE("the first step is a warm-up and does not count", "[runtime][profile]") {
  Profile profile(false);
  for (const double milliseconds : {200.0, 1.0, 1.0}) {
    profile.begin_step(false);
    {
      const Profile::Scope scope(&profile, "item");
      spend(milliseconds);
    }
    profile.end_step();
    if (profile.steps() == 0) CHECK(profile.seconds_per_step().empty());
  }
  CHECK(profile.seconds_per_step().at("item") >= 0.001);
  CHECK(profile.seconds_per_step().at("item") < 0.1);
}

TEST_CASE("one item in several scopes is one item", "[runtime][profile]") {
  Profile profile(false);
  const std::string one = "QKV", other = "QKV";  // at two addresses
  for (int step = 0; step < 2; ++step) {
    profile.begin_step(false);
    for (const auto* item : {one.c_str(), other.c_str()}) {
      const Profile::Scope scope(&profile, item);
      spend(3);
    }
    profile.end_step();
  }
  const auto items = profile.seconds_per_step();
  REQUIRE(items.size() == 1);
  CHECK(items.at("QKV") >= 0.006);
}

TEST_CASE("outside of steps and without a profile nothing is measured", "[runtime][profile]") {
  Profile profile(false);
  { const Profile::Scope scope(&profile, "before"); }
  { const Profile::Scope scope(nullptr, "nobody"); }
  for (int step = 0; step < 2; ++step) {
    profile.begin_step(false);
    profile.end_step();
  }
  { const Profile::Scope scope(&profile, "after"); }
  CHECK(profile.steps() == 1);  // and the warm-up
  CHECK(profile.seconds_per_step().empty());
}
