#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/shell.h"
#include "core/run/launch/local/local_executor.h"
#include "tests/place.h"

namespace orch::test {

// An experiment's folder with runs in it, and a local executor on it. Whatever supervisors it
// started are ended with it.
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
  // behaviour: what the trainer's bash does.
  fs::path add_run(const std::string& id, const std::string& behaviour, const Job& job);
  fs::path add_run(const std::string& id, const std::string& behaviour, int ranks = 1);

  launch::Submitted submit(const std::string& id, const std::vector<std::string>& runs,
                           int lock = -1);
  record::JobFact poll(const std::string& id, std::size_t index = 0);
  // Polls until it has ended; fails the test after five minutes.
  record::JobFact wait(const std::string& id, std::size_t index = 0);
  record::JobFact wait_for(const std::string& id, std::size_t index, const std::string& state);

  const fs::path& folder() const { return folder_; }
  launch::LocalExecutor& executor() { return executor_; }
  fs::path submission(const std::string& id) const { return folder_ / "submissions" / id; }

 private:
  Place place_;
  fs::path folder_;
  SystemClock clock_;
  launch::LocalExecutor executor_;
  std::vector<std::pair<record::Submission, pid_t>> submissions_;
};

// Waits up to five minutes for something; false: in vain.
template <class Condition>
bool eventually(Condition condition) {
  SystemClock clock;
  for (const double limit = clock.steady() + 300; clock.steady() < limit; clock.sleep(0.02))
    if (condition()) return true;
  return condition();
}

std::string slurp(const fs::path& file);
std::vector<std::string> lines(const fs::path& file);

// Runs programs for real, with no care for time limits.
class PlainShell : public Shell {
 public:
  Result<Output> run(const Command& command) override;
};

}  // namespace orch::test
