// How trainings end, and how failures are reported.
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "core/train/checkpoint/checkpoint.h"
#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a rank that dies is named, with the collective, within the timeout", "[train]") {
  const auto victim = GENERATE(0, 2);
  auto json = small_run(4);
  json["steps"] = 100000;
  json["training"]["collective_timeout"] = 100;
  TrainerRun run(json);
  AttemptOptions options;
  std::chrono::steady_clock::time_point killed;
  options.meanwhile = [&](const std::vector<pid_t>& pids, const fs::path& attempt) {
    REQUIRE(wait_for_step(attempt, 10));
    killed = std::chrono::steady_clock::now();
    ::kill(pids[static_cast<std::size_t>(victim)], SIGKILL);
  };
  const auto attempt = run.attempt(options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed;
  INFO(attempt.output);
  CHECK(took.count() < 100);
  for (int rank = 0; rank < 4; ++rank)
    CHECK(attempt.exit_codes[static_cast<std::size_t>(rank)] ==
          (rank == victim ? 128 + SIGKILL : 1));
  CHECK(contains(attempt.output, "rank " + std::to_string(victim) + " is gone"));
  // The all-reduce of gradients, or of what ranks report at the end of a step.
  CHECK((contains(attempt.output, "all_reduce") || contains(attempt.output, "all_gather")));
  CHECK(attempt.failure().failure == record::Failure::nccl);
}

TEST_CASE("tokens beyond the vocabulary are a failure of the data", "[train]") {
  // A file of one document whose tokens are 0 to 199, for a model of 100.
  auto json = small_run(2);
  TrainerRun run(json);
  const auto prefix = run.folder() / "data";
  std::ofstream bin(prefix.string() + ".bin", std::ios::binary);
  for (std::uint16_t token = 0; token < 2000; ++token) {
    const std::uint16_t value = token % 200;
    bin.write(reinterpret_cast<const char*>(&value), 2);
  }
  bin.close();
  std::ofstream idx(prefix.string() + ".idx", std::ios::binary);
  const auto put = [&](auto value) {
    idx.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  idx.write("MMIDIDX\0\0", 9);
  put(std::uint64_t{1});
  put(std::uint8_t{8});  // uint16
  put(std::uint64_t{1});
  put(std::uint64_t{2});
  put(std::int32_t{2000});
  put(std::int64_t{0});
  put(std::int64_t{0});
  put(std::int64_t{1});
  idx.close();
  json["training"]["data"] = prefix.string();
  json["training"]["split"] = "1,0,0";
  run.write(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  CHECK_FALSE(attempt.ok());
  CHECK(attempt.failure().failure == record::Failure::data);
  CHECK(contains(attempt.output, "vocabulary"));
}

TEST_CASE("data that is not there, or damaged, is named", "[train]") {
  auto json = small_run(1);
  TrainerRun run(json);
  const auto prefix = run.folder() / "data";
  if (GENERATE(false, true)) {
    std::ofstream(prefix.string() + ".idx") << "rubbish";
    std::ofstream(prefix.string() + ".bin") << "rubbish";
  }
  json["training"]["data"] = prefix.string();
  run.write(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  CHECK(attempt.exit_codes[0] == 1);
  CHECK(attempt.failure().failure == record::Failure::data);
  CHECK(contains(attempt.output, prefix.string()));
}

TEST_CASE("a loss that is not a number ends it; the last good checkpoint stays", "[train]") {
  auto json = small_run(2);
  json["steps"] = 200;
  json["training"]["learning_rate"] = 100;
  json["training"]["weight_decay"] = 10;  // weights grow a thousandfold in each step
  json["training"]["min_learning_rate"] = 0;
  json["training"]["warmup_steps"] = 0;
  json["training"]["clip"] = 0;
  json["training"]["checkpoint_every"] = 1;
  TrainerRun run(json);
  const auto attempt = run.attempt();
  INFO(attempt.output);
  CHECK_FALSE(attempt.ok());
  CHECK(attempt.failure().failure == record::Failure::nan);
  CHECK(contains(attempt.output, "step"));
  CHECK(checkpoint::open_latest(run.checkpoints()).reader.has_value());
}

TEST_CASE("a disk that is full at a checkpoint is told, and the last good one kept", "[train]") {
  auto json = small_run(1);
  json["steps"] = 6;
  json["training"]["checkpoint_every"] = 3;
  json["training"]["tensorboard"] = false;
  TrainerRun run(json);
  json["steps"] = 3;
  run.write(json);
  REQUIRE(run.attempt().ok());
  json["steps"] = 6;
  run.write(json);
  AttemptOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids, const fs::path&) {
    const rlimit small{100 << 10, 100 << 10};  // shards have more than 300 kB
    REQUIRE(::prlimit(pids[0], RLIMIT_FSIZE, &small, nullptr) == 0);
  };
  const auto attempt = run.attempt(options);
  INFO(attempt.output);
  CHECK(attempt.exit_codes[0] == 1);
  CHECK(attempt.failure().failure == record::Failure::disk);
  const auto latest = checkpoint::open_latest(run.checkpoints());
  REQUIRE(latest.reader);
  CHECK(latest.reader->facts().step == 3);
}

TEST_CASE("a wrong call or a run.json that cannot be read", "[train]") {
  TrainerRun run(small_run(1));
  std::ofstream(run.folder() / "run.json") << "{ \"version\": ";
  AttemptOptions options;
  options.started = true;
  const auto attempt = run.attempt(options);
  CHECK(attempt.exit_codes[0] == 1);
  CHECK(contains(attempt.output, "run.json"));
}
