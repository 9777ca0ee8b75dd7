#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::launch {

// What to hand over, besides the submission itself.
struct Request {
  const record::Submission* submission = nullptr;
  fs::path folder;       // the submission's: the answer goes there
  fs::path script;       // absolute
  fs::path directory;    // to submit from; logs are named relative to it
  std::string job_name;  // a plain name
  std::string log;       // relative to directory, with SLURM's patterns; "/dev/null" for none
  std::string after;     // job id that must succeed first; empty: none
  std::vector<std::string> exclude;  // nodes
  int at_a_time = 0;                 // tasks of an array that may run at once; 0: all
  int lock = -1;  // a descriptor that the called program keeps open: it holds the lock as long
  std::string after_any;  // job ids, ':' between, that must have ended first; empty: none
};

struct Submitted {
  enum class Reply {
    accepted,     // job is its id
    refused,      // as it is, it will never be taken: message says why
    no_room,      // a limit on submitted jobs: later, or fewer
    unreachable,  // the controller did not answer; nothing was submitted
    unclear,      // it may or may not have been taken: find() tells
  };
  Reply reply = Reply::unclear;
  std::string job;
  std::string message;
};

// Where jobs run. All calls are synchronous and bounded in time.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0;

  // The most tasks that one submission may have.
  virtual std::size_t largest_array() { return 1000; }

  // Whether the request could ever run: an error says why not. Submits nothing. An executor that
  // cannot tell now has nothing against it.
  virtual Status test(const Request& request) = 0;

  virtual Submitted submit(const Request& request) = 0;

  // The job of a submission whose answer was lost: its id, or nothing if there is no such job.
  // An error when that cannot be known now.
  virtual Result<std::optional<std::string>> find(const record::Submission& submission) = 0;

  // What is known of all tasks of these submissions, in one go. Tasks that the executor does not
  // know (any more) are not in the answer. An error when it does not answer.
  virtual Result<record::JobFacts> poll(const std::vector<const record::Submission*>& of) = 0;

  // Ends these tasks; those that have ended already are no error.
  virtual Status cancel(const std::vector<record::JobFact>& tasks) = 0;
};

}  // namespace orch::launch
