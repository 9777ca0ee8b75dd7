#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <thread>

#include "backends/runtime/comm/blame.h"
#include "backends/runtime/comm/comm.h"
#include "tests/place.h"
#include "tests/runtime/ranks.h"

using namespace orch;
using namespace orch::test;
using Catch::Matchers::ContainsSubstring;
using train::World;

namespace {

constexpr double kTimeout = 5;

RankOptions with_flight(const ::TestFolder& place) {
  RankOptions options;
  options.timeout_seconds = kTimeout;
  options.flight_folder = place.root().string();
  return options;
}

// One all-reduce per step in group "data"; before that of step 4 (its fourth) the rank runs
// `event`.
std::function<void(World&)> steps_until(int rank, const std::function<void(World&)>& event) {
  return [=](World& world) {
    std::vector<int> all;
    for (int r = 0; r < world.size(); ++r) all.push_back(r);
    auto* data = world.make_group("data", all);
    const auto tensor = at::ones({1000}, at::kFloat);
    for (int step = 1; step <= 8; ++step) {
      world.recorder().step(step);
      if (world.rank() == rank && step == 4) return event(world);
      data->all_reduce(tensor).wait();
    }
  };
}

void check_survivors(const std::vector<RankOutcome>& outcomes, int culprit, double within,
                     const std::string& collective, const std::string& blame) {
  for (int rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    if (rank == culprit) continue;
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    CAPTURE(rank, outcome.signal);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.said,
               ContainsSubstring(collective + " (4000 bytes; rank " + std::to_string(rank)));
    CHECK_THAT(outcome.said, ContainsSubstring(blame));
    CHECK(outcome.seconds < within);
  }
}

}  // namespace

TEST_CASE("a killed rank is named by all the others, with what it did last", "[comm][failure]") {
  const ::TestFolder place;
  const int ranks = GENERATE(2, 3, 4);
  CAPTURE(ranks);
  const int victim = ranks - 1;
  const auto options = with_flight(place);
  const auto outcomes =
      run_worlds(ranks, steps_until(victim, [](World&) { ::kill(::getpid(), SIGKILL); }), options);
  CHECK(outcomes[static_cast<std::size_t>(victim)].signal == SIGKILL);
  check_survivors(outcomes, victim, kTimeout, "all_reduce #4 of 'data'",
                  fmt::format("rank {} is gone (process ", victim));
  check_survivors(outcomes, victim, kTimeout, "all_reduce #4 of 'data'",
                  "last seen in step 4, after all_reduce of 'data' (its collective 3, 4000 bytes)");
}

TEST_CASE("the death of rank 0, which hosts the store, is told as such", "[comm][failure]") {
  const ::TestFolder place;
  const auto outcomes = run_worlds(3, steps_until(0, [](World&) { ::kill(::getpid(), SIGKILL); }),
                                   with_flight(place));
  check_survivors(outcomes, 0, kTimeout, "all_reduce #4 of 'data'", "rank 0 is gone (process ");
  check_survivors(outcomes, 0, kTimeout, "all_reduce #4 of 'data'", "it hosts the store");
}

TEST_CASE("a rank that hangs is named after the timeout", "[comm][failure]") {
  const ::TestFolder place;
  const int victim = GENERATE(1, 0);  // 0: the store hangs too
  const auto outcomes =
      run_worlds(3, steps_until(victim, [](World&) { ::raise(SIGSTOP); }), with_flight(place));
  check_survivors(outcomes, victim, kTimeout + 15, "all_reduce #4 of 'data'",
                  fmt::format("rank {} does not answer (process ", victim));
  check_survivors(outcomes, victim, kTimeout + 15, "all_reduce #4 of 'data'", "which is stopped");
}

TEST_CASE("a rank that computes for too long is named, and what it does", "[comm][failure]") {
  const ::TestFolder place;
  const auto outcomes = run_worlds(
      3, steps_until(1, [](World&) { std::this_thread::sleep_for(std::chrono::seconds(9)); }),
      with_flight(place));
  check_survivors(outcomes, 1, kTimeout + 4, "all_reduce #4 of 'data'",
                  "rank 1 has not entered it: it is in step 4 and in no collective");
}

TEST_CASE("who waits for another is not to blame, but the last of the chain", "[comm][failure]") {
  using train::EnteredCollective, train::RankStatus;
  const auto at = [](int rank, std::vector<EnteredCollective> entered) {
    RankStatus sighting;
    sighting.rank = rank;
    sighting.answered = true;
    sighting.step = 7;
    for (const auto& each : entered) sighting.entered[each.group] = each;
    return sighting;
  };
  const auto waits = [](const char* kind, const char* group, int peer) {
    return EnteredCollective{kind, group, 4, 8, true, true, peer, {}};
  };
  auto posted = waits("recv", "up 3→2", 3);  // posted ahead of time
  posted.is_waited = false;
  const auto down = [&](int rank) {
    return waits("recv", rank == 1 ? "down 0→1" : "down 1→2", rank - 1);
  };
  const std::string last =
      "rank 0 is in step 7 and in no collective; rank 1 waits for it in recv #4 of 'down 0→1'";
  CHECK(
      blame(waits("recv", "down 2→3", 2), {at(0, {posted}), at(1, {down(1)}), at(2, {down(2)})}) ==
      last + "; rank 2 waits for it in recv #4 of 'down 1→2'");
  // For a collective: rank 1 has not entered it, because it waits too.
  const EnteredCollective sum{"all_reduce", "world", 9, 8, true, true, -1, {0, 1, 3}};
  CHECK(blame(sum, {at(0, {sum}), at(1, {waits("recv", "down 2→1", 2)}), at(2, {})}) ==
        "rank 2 is in step 7 and in no collective; rank 1 waits for it in recv #4 of 'down 2→1'");
  // In a cycle no rank is last: the first one found is named.
  CHECK(
      blame(waits("recv", "up 1→2", 1), {at(0, {waits("recv", "up 1→0", 1)}), at(1, {down(1)})}) ==
      "rank 0 is in step 7 in recv #4 of 'up 1→0'; rank 1 waits for it in recv #4 of 'down 0→1'");
}

TEST_CASE("ranks are counted in the world, also in a smaller group", "[comm][failure]") {
  const ::TestFolder place;
  const auto outcomes = run_worlds(
      3,
      [](World& world) {
        auto* ends = world.make_group("ends", {1, 2});
        const auto tensor = at::ones({1000}, at::kFloat);
        if (ends != nullptr) ends->all_reduce(tensor).wait();
        if (world.rank() == 1) ::kill(::getpid(), SIGKILL);
        if (ends != nullptr) ends->all_reduce(tensor).wait();
        world.world().barrier();
      },
      with_flight(place));
  CHECK_THAT(outcomes[2].said,
             ContainsSubstring("all_reduce #2 of 'ends' (4000 bytes; rank 2 of 3 ranks, in a group "
                               "of 2) failed: rank 1 is gone"));
}

TEST_CASE("a rank that leaves early is named", "[comm][failure]") {
  const ::TestFolder place;
  const int victim = GENERATE(1, 0);
  const auto outcomes = run_worlds(3, steps_until(victim, [](World&) {}), with_flight(place));
  CHECK(outcomes[static_cast<std::size_t>(victim)].ok());
  check_survivors(outcomes, victim, kTimeout, "all_reduce #4 of 'data'",
                  fmt::format("rank {} has left, last seen in step 4", victim));
}

TEST_CASE("a rank that fails tells the others why", "[comm][failure]") {
  const ::TestFolder place;
  const int victim = GENERATE(2, 0);
  const auto fail = [](World& world) {
    world.announce_failure("out of memory");
    std::_Exit(1);
  };
  const auto outcomes = run_worlds(3, steps_until(victim, fail), with_flight(place));
  check_survivors(outcomes, victim, kTimeout, "all_reduce #4 of 'data'",
                  fmt::format("rank {} failed: out of memory", victim));
}

TEST_CASE("a rank that enters another collective is named", "[comm][failure]") {
  const ::TestFolder place;
  const auto outcomes = run_worlds(
      2,
      [](World& world) {
        const auto tensor = at::ones({1000}, at::kFloat);
        if (world.rank() == 0) world.world().all_reduce(tensor).wait();
        if (world.rank() == 1) world.world().broadcast(tensor.narrow(0, 0, 10), 0).wait();
      },
      with_flight(place));
  CHECK_THAT(outcomes[0].said + outcomes[1].said,
             ContainsSubstring("of 'world' with ") && ContainsSubstring(" bytes instead"));
}

TEST_CASE("a rank killed at any moment never leaves the others hanging", "[comm][failure]") {
  for (int trial = 0; trial < 10; ++trial) {
    const ::TestFolder place;
    auto options = with_flight(place);
    options.timeout_seconds = 2;
    options.meanwhile = [&](const std::vector<pid_t>& pids) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + 25 * trial));
      ::kill(pids[1], SIGKILL);
    };
    const auto outcomes = run_worlds(
        3,
        [](World& world) {
          for (const auto tensor = at::ones({1 << 20}, at::kFloat);;)
            world.world().all_reduce(tensor).wait();
        },
        options);
    for (const int rank : {0, 2}) {
      const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
      CAPTURE(trial, rank, outcome.exit_code, outcome.signal);
      CHECK_THAT(outcome.said, ContainsSubstring("rank 1"));
      CHECK(outcome.seconds < 2 + 20);  // with the start of its process; a hang would not end
    }
  }
}

TEST_CASE("the flight files of the dead hold their last collectives", "[comm][failure]") {
  const ::TestFolder place;
  const auto options = with_flight(place);
  run_worlds(2,
             steps_until(1,
                         [](World& world) {
                           auto pending = world.world().all_reduce(at::ones({10}, at::kFloat));
                           ::kill(::getpid(), SIGKILL);
                         }),
             options);
  const auto dead = flight::read(options.flight_folder + "/rank-1");
  REQUIRE(dead);
  CHECK(dead->step == 4);
  REQUIRE(dead->collectives.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(dead->collectives[i].kind == "all_reduce");
    CHECK(dead->collectives[i].group == "data");
    CHECK(dead->collectives[i].bytes == 4000);
    CHECK(dead->collectives[i].end >= dead->collectives[i].start);
  }
  CHECK(dead->collectives[3].group == "world");
  CHECK(dead->collectives[3].end == 0);
}

TEST_CASE("ranks that cannot meet say who is missing", "[comm][failure]") {
  RankOptions options;
  options.timeout_seconds = 5;  // the other two come within it, also on a busy machine
  const auto outcomes = run_ranks(
      3,
      [](train::WorldOptions with) {
        if (with.rank == 1) return;
        World world(with);
      },
      options);
  for (const std::size_t rank : {0, 2})
    CHECK(outcomes[rank].said == "rendezvous failed: rank 1 did not join within 5 s\n");
}

TEST_CASE("a rank 0 that never listens is given up after the timeout", "[comm][failure]") {
  RankOptions options;
  options.timeout_seconds = 2;
  const auto outcomes = run_ranks(
      2,
      [](train::WorldOptions world) {
        if (world.rank == 1) World given_up(world);
      },
      options);
  CHECK(outcomes[1].exit_code == 1);
  CHECK_THAT(outcomes[1].said, ContainsSubstring("rank 1 cannot reach rank 0 at"));
  CHECK_THAT(outcomes[1].said, ContainsSubstring("nothing listened there for 2 s"));
  CHECK(outcomes[1].seconds < 10);
}

TEST_CASE("ranks that contradict each other do not begin", "[comm][failure]") {
  RankOptions options;
  options.timeout_seconds = 5;
  const auto outcomes = run_ranks(
      2,
      [](train::WorldOptions with) {
        if (with.rank == 1) with.size = 4;
        World world(with);
      },
      options);
  for (const auto& outcome : outcomes)
    CHECK_THAT(outcome.said, ContainsSubstring("has WORLD_SIZE 4, rank 0 has 2"));
}

TEST_CASE("addresses that cannot be used are named", "[comm][failure]") {
  const auto outcomes = run_ranks(2, [](train::WorldOptions with) {
    if (with.rank == 0) with.address = "no.such.host.invalid";
    if (with.rank == 1) with.port = 0;
    World world(with);
  });
  CHECK_THAT(outcomes[0].said, ContainsSubstring("no host 'no.such.host.invalid'") &&
                                   ContainsSubstring("set MASTER_ADDR"));
  CHECK_THAT(outcomes[1].said, ContainsSubstring("port 0: set MASTER_PORT"));
}
