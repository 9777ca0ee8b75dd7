#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/shell.h"
#include "core/run/launch/local/local_executor.h"
#include "tests/place.h"

namespace orch::test {

// An experiment's folder with runs in it, and a local executor on it. It ends all supervisors that
// it started.
class LocalExperiment {
 public:
  explicit LocalExperiment(const std::string& name = "experiment");
  ~LocalExperiment();
  LocalExperiment(const LocalExperiment&) = delete;
  LocalExperiment& operator=(const LocalExperiment&) = delete;

  struct Job {
    int ranks = 1;
    std::string time;  // seconds
    int signal_seconds = 0;
    fs::path trainer;
    std::string environment = "{}";
    std::string setup;
    std::string rampup = "null";
  };
  // behaviour: the trainer's bash code.
  fs::path add_run(const std::string& id, const std::string& behaviour, const Job& job);
  fs::path add_run(const std::string& id, const std::string& behaviour, int ranks = 1);

  launch::SubmitOutcome submit(const std::string& id, const std::vector<std::string>& runs,
                               int lock = -1);
  record::JobFact poll(const std::string& id, std::size_t index = 0);
  // Polls until the task has ended; fails the test after five minutes.
  record::JobFact wait(const std::string& id, std::size_t index = 0);
  record::JobFact wait_for(const std::string& id, std::size_t index, const std::string& state);

  const fs::path& folder() const { return folder_; }
  launch::LocalExecutor& executor() { return executor_; }
  fs::path submission(const std::string& id) const { return folder_ / "submissions" / id; }

 private:
  TestFolder place_;
  fs::path folder_;
  SystemClock clock_;
  launch::LocalExecutor executor_;
  std::vector<std::pair<record::Submission, pid_t>> submissions_;
};

// Waits up to five minutes for a condition; false: time is over.
template <class Condition>
bool eventually(Condition condition) {
  SystemClock clock;
  for (const double limit = clock.steady() + 300; clock.steady() < limit; clock.sleep(0.02))
    if (condition()) return true;
  return condition();
}

std::string slurp(const fs::path& file);
std::vector<std::string> lines(const fs::path& file);

// Really runs programs, ignoring time limits.
class PlainShell : public Shell {
 public:
  Result<Output> run(const Command& command) override;
};

}  // namespace orch::test
