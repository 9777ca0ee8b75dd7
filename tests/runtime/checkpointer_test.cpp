#include "backends/runtime/loop/checkpointer.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <thread>

#include "tests/place.h"
#include "tests/train/checkpoint/made.h"

using namespace made;
using Catch::Matchers::ContainsSubstring;
using checkpoint::WriteOptions;
using train::Checkpointer;

namespace {

WriteOptions as_rank(int rank) {
  WriteOptions options;
  options.rank = rank;
  options.attempt = std::string(1, 'a');  // g++ 12 sees an overflow in = "a"
  options.wait_seconds = 60;
  return options;
}

std::int64_t latest_step(const fs::path& folder) {
  const auto latest = checkpoint::open_latest(folder);
  return latest.reader ? latest.reader->facts().step : -1;
}

}  // namespace

TEST_CASE("a checkpoint is written while its caller goes on", "[checkpoint]") {
  const TestFolder place;
  Checkpointer rank0(place.root(), as_rank(0));
  rank0.save(at_step(1, 2), simple(1));  // cannot complete before rank 1
  CHECK(rank0.is_writing());
  CHECK(rank0.take_outcomes().empty());
  Checkpointer rank1(place.root(), as_rank(1));
  rank1.save(at_step(1, 2), {});
  REQUIRE(rank1.finish());
  REQUIRE(rank0.finish());
  const auto outcomes = rank0.take_outcomes();
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].status);
  CHECK(outcomes[0].facts.step == 1);
  CHECK(rank0.take_outcomes().empty());
  CHECK(latest_step(place.root()) == 1);
}

TEST_CASE("a save waits for the one before", "[checkpoint]") {
  const TestFolder place;
  Checkpointer writer(place.root(), {});
  for (std::int64_t step = 1; step <= 4; ++step) writer.save(at_step(step), simple(step));
  REQUIRE(writer.finish());
  const auto outcomes = writer.take_outcomes();
  REQUIRE(outcomes.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(outcomes[i].facts.step == static_cast<std::int64_t>(i) + 1);
  CHECK(latest_step(place.root()) == 4);
}

TEST_CASE("a checkpoint that fails is told, and training may go on", "[checkpoint]") {
  const TestFolder place;
  Checkpointer writer(place.root() / "here", {});
  writer.save(at_step(1), simple(1));
  REQUIRE(writer.finish());
  fs::rename(place.root() / "here", place.root() / "away");
  place.file("here", "in the way");
  writer.save(at_step(2), simple(2));
  CHECK_THAT(text(writer.finish().error()), ContainsSubstring("a file is in the way"));
  fs::remove(place.root() / "here");
  fs::rename(place.root() / "away", place.root() / "here");
  CHECK(latest_step(place.root() / "here") == 1);
  writer.save(at_step(3), simple(3));
  REQUIRE(writer.finish());
  const auto outcomes = writer.take_outcomes();
  REQUIRE(outcomes.size() == 3);
  CHECK_FALSE(outcomes[1].status);
  CHECK(outcomes[1].facts.step == 2);
  CHECK(outcomes[2].status);
  CHECK(latest_step(place.root() / "here") == 3);
}

TEST_CASE("leaving does not wait for a rank that never comes", "[checkpoint]") {
  const TestFolder place;
  const auto begin = std::chrono::steady_clock::now();
  {
    Checkpointer writer(place.root(), as_rank(0));
    writer.save(at_step(1, 2), simple(1));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  CHECK(fs::is_empty(place.root()));
}

TEST_CASE("a folder that is removed while it is written fails at once, not after the timeout",
          "[checkpoint]") {
  const TestFolder place;
  Checkpointer rank0(place.root(), as_rank(0));
  const auto began = std::chrono::steady_clock::now();
  rank0.save(at_step(1, 2), simple(1));
  const auto draft = place.root() / "step-00000001.a.writing";
  while (!fs::exists(draft / "rank-0.safetensors")) std::this_thread::yield();
  fs::remove_all(draft);
  CHECK_THAT(text(rank0.finish().error()), ContainsSubstring("was removed while"));
  CHECK(std::chrono::steady_clock::now() - began <
        std::chrono::seconds(30));  // not the full minute
}

TEST_CASE("when rank 0 fails the others name it as the cause, and leave nothing", "[checkpoint]") {
  const TestFolder place;
  const auto draft = place.root() / "step-00000001.a.writing";
  Checkpointer rank0(place.root(), as_rank(0)), rank1(place.root(), as_rank(1));
  std::atomic<bool> has_begun = false;
  auto late = simple(1);
  late.pieces[0].read =
      [&, bytes = late.pieces[0].data] {  // the folder goes in the middle of its share
        has_begun = true;
        while (fs::exists(draft)) std::this_thread::yield();
        return checkpoint::SharedBytes{bytes, {}};
      };
  rank1.save(at_step(1, 2), std::move(late));
  auto broken = simple(1);
  broken.pieces[0].read = [&]() -> checkpoint::SharedBytes {
    while (!has_begun) std::this_thread::yield();
    throw std::runtime_error("disk is full");
  };
  rank0.save(at_step(1, 2), std::move(broken));
  CHECK_THAT(text(rank1.finish().error()), ContainsSubstring("see the log of rank 0"));
  CHECK_THAT(text(rank0.finish().error()), ContainsSubstring("disk is full"));

  // A rank that comes later creates the folder again; its share is not needed.
  REQUIRE(checkpoint::write(place.root(), at_step(1, 2), simple(1), as_rank(1)));
  CHECK(fs::exists(draft));
  CHECK_FALSE(rank0.finish());
  CHECK(fs::is_empty(place.root()));
}
