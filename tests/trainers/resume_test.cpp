// Trainings that are stopped, killed and started again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "core/train/checkpoint/checkpoint.h"
#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;

namespace {

// Long enough that kills come in the middle, while a checkpoint is being written.
nlohmann::ordered_json long_run(int ranks, int steps) {
  auto json = small_run(ranks);
  json["steps"] = steps;
  json["training"]["checkpoint_every"] = 3;
  json["training"]["dropout"] = 0.1;
  return json;
}

void kill_all(const std::vector<pid_t>& pids) {
  for (const auto pid : pids) ::kill(pid, SIGKILL);
}

}  // namespace

TEST_CASE("killed at random moments it ends as if it never had been", "[train]") {
  const std::string backend = GENERATE("ddp", "megatron", "zero3");
  CAPTURE(backend);
  const int most = backend == "megatron" ? 10 : 6, steps = 4 * most;
  auto json = long_run(2, steps);
  if (backend == "ddp") {
    json["settings"]["compression"] = "powersgd";
  } else {
    const auto training = json["training"];
    json = backend == "megatron"
               ? megatron_run(2, 2, 1)
               : zero_run("zero3", 2, {{"offload", "full"}, {"offload_fraction", 0.5}});
    json["training"] = training;
    json["steps"] = steps;
  }
  TrainerRun whole(json);
  REQUIRE(whole.attempt().ok());

  TrainerRun broken(json);
  std::random_device source;
  const auto seed = source();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  int kills = 0, in_training = 0;
  for (; kills < most; ++kills) {
    // Some kills during the start, most in the following steps: otherwise there would be no
    // progress.
    const int after = std::uniform_int_distribution(-1, 7)(random);
    AttemptOptions options;
    options.meanwhile = [&](const std::vector<pid_t>& pids, const fs::path& attempt) {
      const auto done = static_cast<int>(broken.losses().size());
      if (after >= 0) wait_for_step(attempt, std::min(done + after, steps - 6), 60);
      std::this_thread::sleep_for(
          std::chrono::microseconds(std::uniform_int_distribution(0, 30000)(random)));
      kill_all(pids);
    };
    const auto attempt = broken.attempt(options);
    if (attempt.finished()) break;
    in_training += attempt.event("step").is_null() ? 0 : 1;
  }
  CHECK(kills >= most / 2);  // the last of them may come too late
  CHECK(in_training >= most / 4);
  const auto last = broken.attempt();
  INFO(last.output);
  REQUIRE(last.ok());
  CHECK(last.finished());
  CHECK(broken.losses() == whole.losses());
  CHECK(broken.weights() == whole.weights());
  CHECK(broken.saved("exp_avg/word_embedding.weight") ==
        whole.saved("exp_avg/word_embedding.weight"));
}

// A file of the newest one is a pipe without a writer: opening it blocks, longer than a collective
// may take.
TEST_CASE("a checkpoint that takes long to look at is waited for", "[train]") {
  auto json = long_run(2, 6);
  json["training"]["keep_checkpoints"] = 2;
  TrainerRun run(json);
  REQUIRE(run.attempt().ok());
  json["steps"] = 9;
  json["training"]["collective_timeout"] = 15;
  run.write(json);
  const auto newest = checkpoint::list(run.checkpoints()).front();
  fs::path shard;
  for (const auto& entry : fs::directory_iterator(newest))
    if (entry.path().extension() == ".safetensors") shard = entry.path();
  fs::remove(shard);
  REQUIRE(::mkfifo(shard.c_str(), 0600) == 0);
  AttemptOptions options;
  options.meanwhile = [&](const std::vector<pid_t>&, const fs::path&) {
    std::this_thread::sleep_for(std::chrono::seconds(20));
    for (int tries = 0, end = -1; tries < 600 && end < 0; ++tries) {  // until it has a reader
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      end = ::open(shard.c_str(), O_WRONLY | O_NONBLOCK);
      if (end >= 0) ::close(end);
    }
  };
  const auto attempt = run.attempt(options);
  INFO(attempt.output);
  CHECK(attempt.ok());
  CHECK(attempt.output.find("not a file") != std::string::npos);
  CHECK(attempt.events().at(1).at("step") == 4);
}

TEST_CASE("SIGUSR1 saves and leaves; another number of ranks goes on from there", "[train]") {
  const auto compression = GENERATE("none", "powersgd");
  auto json = small_run(2);
  json["settings"]["compression"] = compression;
  json["steps"] = 60;
  TrainerRun whole(json), parts(json);
  REQUIRE(whole.attempt().ok());
  AttemptOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids, const fs::path& attempt) {
    REQUIRE(wait_for_step(attempt, 8));
    ::kill(pids[1], SIGUSR1);  // one of them is enough
  };
  const auto stopped = parts.attempt(options);
  INFO(stopped.output);
  REQUIRE(stopped.ok());
  CHECK_FALSE(stopped.finished());
  const int at = stopped.event("end").at("step");
  CHECK(at >= 8);
  CHECK(at < 60);

  auto more = small_run(4);
  more["settings"]["compression"] = compression;
  more["steps"] = 60;
  parts.write(more);
  const auto rest = parts.attempt();
  INFO(rest.output);
  REQUIRE(rest.ok());
  CHECK(rest.finished());
  CHECK(rest.events().at(1).at("step") == at + 1);
  const auto expected = whole.losses(), got = parts.losses();
  REQUIRE(got.size() == 60);
  // PowerSGD compresses each rank's gradient: other ranks, other approximations, the same limit.
  const double most = std::string(compression) == "none" ? 1e-6 : 0.2;
  for (const auto& [step, loss] : expected) {
    INFO("step " << step);
    CHECK(std::abs(got.at(step) - loss) < most);
  }
}

TEST_CASE("a stop that only a later stage hears of stops all at one step", "[train][megatron]") {
  auto json = megatron_run(1, 2, 1);
  json["steps"] = 1000;
  TrainerRun run(json);
  AttemptOptions options;
  options.meanwhile = [](const std::vector<pid_t>& pids, const fs::path& attempt) {
    REQUIRE(wait_for_step(attempt, 3));
    ::kill(pids[1], SIGUSR1);
  };
  const auto stopped = run.attempt(options);
  INFO(stopped.output);
  REQUIRE(stopped.ok());
  CHECK_FALSE(stopped.finished());
  const auto latest = checkpoint::open_latest(run.checkpoints());
  REQUIRE(latest.reader);
  CHECK(latest.reader->facts().step < 1000);
  CHECK(latest.reader->facts().step == stopped.event("end").at("step"));
}

TEST_CASE("a run whose checkpoints are all corrupt does not begin anew", "[train]") {
  TrainerRun run(long_run(2, 6));
  REQUIRE(run.attempt().ok());
  const auto all = checkpoint::list(run.checkpoints());
  REQUIRE(all.size() == 2);
  for (const auto& one : all) fs::resize_file(one / "checkpoint.json", 100);
  const auto again = run.attempt();
  INFO(again.output);
  CHECK_FALSE(again.ok());
  CHECK(again.failure().failure == record::Failure::data);
  CHECK(again.failure().line.find("no checkpoint can be read") != std::string::npos);
  CHECK(checkpoint::list(run.checkpoints()) == all);
}

TEST_CASE("a run that keeps no checkpoints writes none", "[train]") {
  auto json = long_run(2, 6);
  json["training"]["checkpoint_every"] = 0;
  json["training"]["keep_checkpoints"] = 0;
  TrainerRun run(json);
  const auto only = run.attempt();
  REQUIRE(only.ok());
  CHECK(only.finished());
  CHECK(run.losses().size() == 6);
  CHECK(checkpoint::list(run.checkpoints()).empty());
}

TEST_CASE("a corrupt checkpoint is passed over for the one before it", "[train]") {
  const auto json = long_run(2, 12);
  TrainerRun run(json);
  REQUIRE(run.attempt().ok());
  const auto losses = run.losses();
  const auto all = checkpoint::list(run.checkpoints());
  REQUIRE(all.size() == 2);  // keep_checkpoints
  const auto shard = all[0] / "rank-1.safetensors";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(fs::file_size(shard)) / 2);
  const char before = static_cast<char>(file.peek());
  file.put(static_cast<char>(before ^ 1));
  file.close();
  const auto again = run.attempt();
  INFO(again.output);
  REQUIRE(again.ok());
  CHECK(again.output.find("skipped a checkpoint") != std::string::npos);
  CHECK(again.events().at(1).at("step") == 10);  // from that of step 9
  CHECK(run.losses() == losses);
}
