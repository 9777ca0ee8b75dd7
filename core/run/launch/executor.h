#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::launch {

// A request to an executor, besides the submission itself.
struct SubmitRequest {
  const record::Submission* submission = nullptr;
  fs::path folder;       // the submission's folder, to which the answer is written
  fs::path script;       // absolute
  fs::path directory;    // to submit from; logs are named relative to it
  std::string job_name;  // a plain name
  std::string log;       // relative to directory, with SLURM's patterns; "/dev/null" for no log
  std::string after;     // job id that must succeed first; empty: none
  std::vector<std::string> exclude;  // nodes
  int at_a_time = 0;                 // array tasks that may run at once; 0: all
  int lock = -1;             // a descriptor that the called program keeps open, to hold the lock
  std::string after_any;     // job ids that must have ended first, separated by ':'; empty: none
  std::int64_t minutes = 0;  // time limit in place of the script's; 0: that one
};

struct SubmitOutcome {
  enum class Reply {
    accepted,     // `job` is its id
    refused,      // will never be accepted unchanged: `message` has the reason
    no_room,      // a limit on submitted jobs: try later, or fewer
    unreachable,  // the controller did not answer; nothing was submitted
    unclear,      // may or may not have been accepted: use find()
  };
  Reply reply = Reply::unclear;
  std::string job;
  std::string message;
};

// Runs jobs. All calls are synchronous and have a time limit.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0;

  // The largest number of tasks in one submission.
  virtual std::size_t largest_array() { return 1000; }

  // Checks if the request could ever run; submits nothing. An executor that cannot decide this now
  // returns success.
  virtual Status test(const SubmitRequest& request) = 0;

  virtual SubmitOutcome submit(const SubmitRequest& request) = 0;

  // The job of a submission whose answer was lost: its id, or nothing if there is no such job. An
  // error if that is unknown now.
  virtual Result<std::optional<std::string>> find(const record::Submission& submission) = 0;

  // The state of all tasks of these submissions, in one query. Tasks that the executor does not
  // know (any more) are missing. An error if it does not answer.
  virtual Result<record::JobFacts> poll(const std::vector<const record::Submission*>& of) = 0;

  // Cancels these tasks; those that have already ended are not an error.
  virtual Status cancel(const std::vector<record::JobFact>& tasks) = 0;
};

}  // namespace orch::launch
