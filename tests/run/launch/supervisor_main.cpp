// The supervisor as a separate program, for tests: a submission's folder has the runs in "runs",
// one per line, and its options are in the environment.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/run/launch/local/supervisor.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  const orch::fs::path folder = words[1];
  const auto given = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  orch::launch::SupervisorOptions options;
  options.submission.id = folder.filename().string();
  std::ifstream runs(folder / "runs");
  for (std::string run; std::getline(runs, run);) options.submission.runs.push_back(run);
  options.submission.array = options.submission.runs.size() > 1;
  options.trainers = given("TEST_TRAINERS");
  options.lock = given("TEST_LOCK");
  options.memory_limit = std::strtoull(given("TEST_MEMORY").c_str(), nullptr, 10);
  // Long, for a busy machine; tests whose ranks do not exit use shorter ones.
  options.kill_after_seconds = given("TEST_KILL").empty() ? 60 : std::stod(given("TEST_KILL"));
  options.wait_seconds = given("TEST_WAIT").empty() ? 60 : std::stod(given("TEST_WAIT"));
  const int code = orch::launch::supervise(folder, options);
  std::fflush(nullptr);
  std::_Exit(code);  // under a sanitizer, the leak check at exit takes many seconds
}
