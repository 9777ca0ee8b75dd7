#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/run/follow/campaign.h"

namespace orch::follow {

// The number of tasks of a submission that may run at once, and its lane: in a lane a submission
// begins when the previous one has ended.
struct TaskLimit {
  int at_a_time = 1;
  std::size_t lane = 0;
};

// Distributes a limit (1 or more) over submissions with these numbers of tasks so that they keep it
// together: each has a share by its size and a lane of its own, or, if there are more submissions
// than the limit, one task at a time in one of `limit` lanes.
std::vector<TaskLimit> deal_turns(const std::vector<std::size_t>& sizes, int limit);

// The result of submitting runs.
struct SubmitResult {
  std::size_t runs = 0;     // that were accepted
  std::size_t jobs = 0;     // number of jobs or arrays
  std::size_t waiting = 0;  // runs for which there is no room now; they stay due
  std::size_t refused = 0;  // runs
  std::size_t unsafe = 0;   // runs that were left out because they are not ours, or changed
  bool silent = false;      // an error of submit() means: the executor did not answer in time
};

// Submits runs of a campaign to their executors: runs with the same request as arrays or as serial
// jobs, the phases of a ramp-up as jobs that wait for each other. The campaign must hold its lock.
class Submitter {
 public:
  explicit Submitter(Campaign& campaign) : campaign_(campaign) {}

  // An error if the scheduler cannot be reached in time or the disk is full; runs submitted until
  // then stay submitted, the rest is still due. Also an error for runs that are not ours, or whose
  // scripts were changed: these are left out.
  Status submit(std::vector<std::size_t> runs);

  // Asks the executor about one run of each kind, without submitting. Returns all refusals at once.
  Status test(const std::vector<std::size_t>& runs);

  // The number of jobs that these runs would be.
  Result<std::size_t> count_jobs(const std::vector<std::size_t>& runs);

  const SubmitResult& handed() const { return handed_; }

 private:
  // Runs that are submitted together.
  struct Group {
    std::vector<std::size_t> runs;
    std::string header;                // of the array's script
    bool serial = false;               // one job does them one after another,
    std::vector<std::int64_t> limits;  // each within so many seconds
    std::vector<std::string> exclude;  // nodes
    int phase = 1;
    std::string after;              // submission of the previous phase
    std::string after_job;          // and its job, if it has not ended
    std::optional<TaskLimit> turn;  // set if the campaign limits how many run at once
  };
  // The campaign's jobs that SLURM has.
  struct ActiveJobs {
    std::vector<std::string> tasks;  // "4711", or "4711_3" of an array
    std::set<std::string> jobs;      // ids of the jobs or arrays
    bool all_run = true;             // true if none of them waits
  };
  using Reply = launch::SubmitOutcome::Reply;

  Errors examine(std::vector<std::size_t>& runs);
  const record::ScriptSums* sums_before(const std::string& run, int phase) const;
  std::string script_name(std::size_t run, int phase) const;
  std::int64_t seconds_limit(std::size_t run, const std::string& header) const;
  bool fits(const Group& group, std::int64_t seconds) const;
  Result<std::vector<Group>> groups(const std::vector<std::size_t>& runs);
  launch::SubmitRequest request(const Group& group, const fs::path& folder) const;
  void take_turns(std::vector<Group>& groups);
  ActiveJobs under_way() const;
  Status submit_array(Group group);
  Status submit_phases(Group group);
  Status submit_serial(const Group& group);
  void cancel_later_phases(const FollowedRun& view);
  Result<Reply> hand_over(const Group& group);
  Result<std::size_t> write(const Group& group);
  Result<Reply> settle(std::size_t submission, const Group& group, launch::SubmitOutcome answer);
  const FollowedRun& view(const Group& group) const { return campaign_.runs()[group.runs.front()]; }
  fs::path folder(std::size_t run) const;

  Campaign& campaign_;
  SubmitResult handed_;
  std::map<std::pair<std::size_t, int>, record::ScriptSums> sums_;  // filled by examine()
  std::vector<std::string>
      lanes_;        // by lane: jobs that must end before the next one, separated by ':'
  int unclear_ = 0;  // consecutive unclear answers
};

}  // namespace orch::follow
