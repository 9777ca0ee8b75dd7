// Uncatchable exceptions.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include "backends/runtime/loop/trainer_main.h"
#include "core/base/files.h"
#include "tests/trainers/trainer.h"

using namespace orch;
using namespace orch::test;

namespace {

int train_with_a_thread_that_throws(const fs::path& run, const fs::path& attempt) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"RANK", "0"},
                                                                      {"LOCAL_RANK", "0"},
                                                                      {"WORLD_SIZE", "1"},
                                                                      {"MASTER_ADDR", "127.0.0.1"},
                                                                      {"MASTER_PORT", "1"}})
    ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> arguments = {"trainer", "--run", run.string(), "--attempt",
                                        attempt.string()};
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  return train::trainer_main(
      static_cast<int>(argv.size()), argv.data(),
      [](const plan::Run&, train::World&, train::Profile&) -> std::unique_ptr<train::Engine> {
        std::thread([] { throw std::runtime_error("thrown by a thread"); }).join();
        return nullptr;
      });
}

}  // namespace

TEST_CASE("an exception that nobody can catch is told like any other", "[train]") {
  const TrainerRun run(small_run(1));
  const auto attempt = run.folder() / "attempts" / "1";
  fs::create_directories(attempt);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(train_with_a_thread_that_throws(run.folder() / "run.json", attempt));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  const auto events = read_file(attempt / "events.jsonl");
  REQUIRE(events);
  CHECK_THAT(*events, Catch::Matchers::ContainsSubstring("thrown by a thread"));
}
