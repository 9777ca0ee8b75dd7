#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/shell.h"
#include "core/run/launch/executor.h"
#include "core/run/launch/slurm/slurm_client.h"

namespace orch::launch {

struct SlurmOptions {
  double settle_seconds = 2;    // for find(): a busy controller may accept a job a bit later
  double accounting_lag = 120;  // for this long sacct may know less about a job than squeue did
  double submit_seconds = 180;  // sbatch itself waits two minutes if the queue is full
};

// Jobs on a SLURM cluster. A job belongs to a submission only if it contains its id (in its
// comment,
// or in the command line that accounting stored): job ids are reused after a reset.
//
// sacct is asked only once about a task that has ended, and the answer is stored. Without
// accounting, squeue's report counts, and tasks it has forgotten are missing from poll().
class SlurmExecutor : public Executor {
 public:
  // Both outlive it.
  SlurmExecutor(Shell& shell, Clock& clock, SlurmOptions options = {})
      : shell_(shell), clock_(clock), options_(options), client_(shell) {}

  std::string_view name() const override { return "slurm"; }
  std::size_t largest_array() override;
  Status test(const SubmitRequest& request) override;
  // The job gets the submission's id as $ORCH_SUBMISSION, after a requeue too.
  SubmitOutcome submit(const SubmitRequest& request) override;
  // A job that ended longer ago than the controller remembers (MinJobAge) is not found without
  // accounting; nor with it, if it was cancelled before it could start: check the run folder first.
  Result<std::optional<std::string>> find(const record::Submission& submission) override;
  Result<record::JobFacts> poll(const std::vector<const record::Submission*>& of) override;
  Status cancel(const std::vector<record::JobFact>& tasks) override;

  SlurmClient& client() { return client_; }

 private:
  // A task that squeue shows as ended or not at all, until accounting has recorded its end.
  struct Waiting {
    double since = 0;
    double next = 0;  // when to ask again
  };

  bool misses_nodes();
  bool accounting_may_answer() const;
  record::JobFacts from_queue(const std::vector<const record::Submission*>& of,
                              const std::vector<JobRow>& rows) const;
  void ask_accounting(const std::vector<const record::Submission*>& of,
                      const record::JobFacts& queued);
  void settle(const record::TaskId& task, const record::JobFact* told,
              const record::JobFact* queued);
  std::optional<std::string> job_in_queue(const std::vector<JobRow>& rows,
                                          const record::Submission& submission) const;

  Shell& shell_;
  Clock& clock_;
  SlurmOptions options_;
  SlurmClient client_;
  std::size_t largest_array_ = 0;      // 0: not asked yet
  double accounting_failed_ = -1e300;  // time of the last failure, by the steady clock
  std::map<record::TaskId, Waiting> waiting_;
  record::JobFacts final_;
  std::set<record::TaskId> gone_;  // tasks that neither squeue nor sacct knows
};

}  // namespace orch::launch
