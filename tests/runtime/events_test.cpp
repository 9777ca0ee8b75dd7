#include "backends/runtime/loop/events.h"

#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/runtime/host/failure.h"
#include "core/record/events/collect.h"
#include "tests/place.h"

using namespace orch;
using namespace orch::train;
using nlohmann::json;

namespace {

std::vector<json> lines_of(const fs::path& attempt) {
  std::vector<json> lines;
  std::ifstream file(attempt / "events.jsonl");
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

StepEvent step_event(std::int64_t step, double loss) {
  StepEvent event;
  event.step = step;
  event.loss = loss;
  event.step_seconds = 0.5;
  event.tokens = step * 1024;
  event.tokens_per_second = 2048;
  event.peak_memory_bytes = 17179869184;
  event.gradient_norm = 1.5;
  event.learning_rate = 1e-4;
  event.communicated_bytes = 4096;
  return event;
}

}  // namespace

TEST_CASE("every event is one line of JSON with its time", "[runtime][events]") {
  const TestFolder folder;
  Events events(folder.root());
  events.write("start", {{"ranks", 4},
                         {"device", "cpu"},
                         {"torch", "1.13.1"},
                         {"parameters", 123456},
                         {"effective", std::map<std::string, std::string>{{"attention", "sdpa"}}}});
  events.step(step_event(1, 3.25));
  events.write("evaluation", {{"step", 1}, {"loss", 3.5}});
  events.write("checkpoint", {{"step", 1}});
  events.write("checkpoint_failed", {{"step", 2}, {"message", "No space left"}});
  events.write("profile", {{"step", 2},
                           {"time_items", std::map<std::string, double>{{"QKV", 0.125}}},
                           {"memory_items", std::map<std::string, double>{{"weights", 1e9}}}});
  events.write("failed", {{"class", "nan"}, {"message", "loss is NaN\nat \"step\" 3 \xff"}});
  events.write("end", {{"step", 2}});

  const auto lines = lines_of(folder.root());
  REQUIRE(lines.size() == 8);
  for (const auto& line : lines) CHECK(line["time"].get<double>() > 1.6e9);
  CHECK(lines[0]["event"] == "start");
  CHECK(lines[0]["ranks"] == 4);
  CHECK(lines[0]["device"] == "cpu");
  CHECK(lines[0]["torch"] == "1.13.1");
  CHECK(lines[0]["parameters"] == 123456);
  CHECK(lines[0]["effective"]["attention"] == "sdpa");
  CHECK(lines[1]["event"] == "step");
  CHECK(lines[1]["loss"] == 3.25);
  CHECK(lines[1]["peak_memory_bytes"] == 17179869184);
  CHECK(lines[1]["gradient_norm"] == 1.5);
  CHECK(lines[1]["learning_rate"] == 1e-4);
  CHECK(lines[1]["loss_scale"] == 1);
  CHECK(lines[1]["skipped"] == false);
  CHECK(lines[1]["communicated_bytes"] == 4096);
  CHECK(lines[2]["event"] == "evaluation");
  CHECK(lines[2]["loss"] == 3.5);
  CHECK(lines[3]["event"] == "checkpoint");
  CHECK(lines[4]["event"] == "checkpoint_failed");
  CHECK(lines[4]["message"] == "No space left");
  CHECK(lines[5]["time_items"]["QKV"] == 0.125);
  CHECK(lines[5]["memory_items"]["weights"] == 1e9);
  CHECK(lines[6]["class"] == "nan");
  CHECK(lines[6]["message"] == "loss is NaN\nat \"step\" 3 \xef\xbf\xbd");
  CHECK(lines[7]["event"] == "end");
  CHECK(lines[7]["step"] == 2);
}

TEST_CASE("what is not finite is null", "[runtime][events]") {
  const TestFolder folder;
  Events events(folder.root());
  events.step(step_event(1, std::nan("")));
  events.write("evaluation", {{"step", 1}, {"loss", std::numeric_limits<double>::infinity()}});
  const auto lines = lines_of(folder.root());
  CHECK(lines.at(0)["loss"].is_null());
  CHECK(lines.at(1)["loss"].is_null());
}

TEST_CASE("orch reads the progress of our trainers", "[runtime][events]") {
  const TestFolder folder;
  Events events(folder.root());
  events.write("start", {{"ranks", 1}, {"device", "cpu"}, {"parameters", 1}});
  for (std::int64_t step = 1; step <= 20; ++step) {
    events.step(step_event(step, 4.0));
    events.write("evaluation", {{"step", step}, {"loss", 9.0}});
  }
  const auto progress = events::read_progress(folder.root(), 0);
  REQUIRE(progress);
  CHECK(progress->measured.steps == 20);
  CHECK(progress->measured.last_loss == 4.0);
  CHECK(progress->measured.step_seconds->value == 0.5);
  CHECK(progress->measured.tokens_per_second == 2048);
  CHECK(progress->measured.peak_memory_bytes == 17179869184.0);
}

TEST_CASE("events of several threads do not mix", "[runtime][events]") {
  const TestFolder folder;
  Events events(folder.root());
  const std::string message(10'000, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int step = 0; step < 50; ++step)
        events.write("checkpoint_failed", {{"step", step}, {"message", message}});
    });
  for (auto& thread : threads) thread.join();
  CHECK(lines_of(folder.root()).size() == 200);
}

TEST_CASE("a second opening appends", "[runtime][events]") {
  const TestFolder folder;
  Events(folder.root()).write("checkpoint", {{"step", 1}});
  Events(folder.root()).write("checkpoint", {{"step", 2}});
  CHECK(lines_of(folder.root()).size() == 2);
}

TEST_CASE("a full disk does not end a training", "[runtime][events]") {
  const TestFolder folder;
  fs::create_symlink("/dev/full", folder.root() / "events.jsonl");
  Events events(folder.root());
  CHECK_NOTHROW(events.write("checkpoint", {{"step", 1}}));
  CHECK_NOTHROW(events.write("checkpoint", {{"step", 2}}));
}

// A limit on the size of files cuts a line as a full disk does.
TEST_CASE("half a line costs that line alone", "[runtime][events]") {
  const TestFolder folder;
  Events events(folder.root());
  events.write("checkpoint", {{"step", 1}});
  const auto size = fs::file_size(folder.root() / "events.jsonl");
  auto* before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{}, tight{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  tight = {size + 10, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  events.write("checkpoint", {{"step", 2}});
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  events.write("checkpoint", {{"step", 3}});

  std::ifstream file(folder.root() / "events.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].size() == 10);
  CHECK(json::parse(lines[2])["step"] == 3);
}

TEST_CASE("events without a folder are refused, silent ones go nowhere", "[runtime][events]") {
  Events silent;
  CHECK_NOTHROW(silent.write("end", {{"step", 1}}));
  CHECK_THROWS_AS(Events("/nowhere"), ClassifiedFailure);
}
