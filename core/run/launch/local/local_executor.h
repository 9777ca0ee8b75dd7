#pragma once

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/run/launch/executor.h"
#include "core/run/launch/local/local_run.h"

namespace orch::launch {

struct LocalOptions {
  fs::path experiment_folder;           // runs/<experiment>; submissions are below it
  std::vector<std::string> supervisor;  // command before the submission's folder: orch, _local
  fs::path trainers;                    // for test(): the folder of orch-train-<backend>
  double answer_seconds = 30;           // time limit for a supervisor's first sign of life
};

// Runs on this machine, one after the other, under a supervisor that outlives us as a SLURM job
// would. The supervisor writes to the submission's folder; poll() checks in /proc that it still
// exists.
class LocalExecutor : public Executor {
 public:
  LocalExecutor(LocalOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}

  std::string_view name() const override { return "local"; }
  std::size_t largest_array() override { return 1'000'000; }
  Status test(const SubmitRequest& request) override;
  SubmitOutcome submit(const SubmitRequest& request) override;
  Result<std::optional<std::string>> find(const record::Submission& submission) override;
  Result<record::JobFacts> poll(const std::vector<const record::Submission*>& of) override;
  // Returns at once; the supervisor ends the run within seconds.
  Status cancel(const std::vector<record::JobFact>& tasks) override;

 private:
  fs::path folder_of(const std::string& submission) const;
  void poll_one(const record::Submission& submission, record::JobFacts& facts) const;

  LocalOptions options_;
  Clock& clock_;
};

}  // namespace orch::launch
