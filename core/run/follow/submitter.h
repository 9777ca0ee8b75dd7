#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/run/follow/campaign.h"

namespace orch::follow {

// How many tasks of a submission may run at once, and in which lane it stands: in a lane one begins
// when the one before it has ended.
struct Turn {
  int at_a_time = 1;
  std::size_t lane = 0;
};

// Deals a limit (1 or more) to submissions of so many tasks, so that all together keep it: each has
// a share by its size and a lane of its own, or, where there are more than the limit, one task in
// one of so many lanes.
std::vector<Turn> deal_turns(const std::vector<std::size_t>& sizes, int limit);

// What became of runs that were to be submitted.
struct Handed {
  std::size_t runs = 0;     // that were accepted
  std::size_t jobs = 0;     // calls
  std::size_t waiting = 0;  // runs for which there is no room now; they stay due
  std::size_t refused = 0;  // runs
  std::size_t unsafe = 0;   // runs that were left out: not ours, or changed
  bool silent = false;      // an error of submit(): the executor did not answer in time
};

// Hands runs of a campaign to their executors: runs that ask for the same go as arrays, the phases
// of a ramp-up as jobs that wait for each other. The campaign holds its lock.
class Submitter {
 public:
  explicit Submitter(Campaign& campaign) : campaign_(campaign) {}

  // An error if the scheduler cannot be reached in time or the disk does not take it; what was
  // handed over until then stays, and the rest is still due. Also of runs that are not ours, or
  // whose scripts were changed: these are left out.
  Status submit(std::vector<std::size_t> runs);

  // Asks the executor about one run of each kind, without submitting. All refusals at once.
  Status test(const std::vector<std::size_t>& runs);

  // How many jobs these runs would be.
  Result<std::size_t> count_jobs(const std::vector<std::size_t>& runs);

  const Handed& handed() const { return handed_; }

 private:
  // Runs that go as one submission.
  struct Group {
    std::vector<std::size_t> runs;
    std::string header;                // of an array's script
    std::vector<std::string> exclude;  // nodes
    int phase = 1;
    std::string after;         // submission of the phase before
    std::string after_job;     // and its job, if that has not ended
    std::optional<Turn> turn;  // where the campaign limits what runs at once
  };
  // What SLURM has of the campaign.
  struct UnderWay {
    std::vector<std::string> tasks;  // "4711", or "4711_3" of an array
    std::set<std::string> jobs;      // that have these
    bool all_run = true;             // none of them waits for a place
  };
  using Reply = launch::Submitted::Reply;

  Errors examine(std::vector<std::size_t>& runs);
  const record::Sums* sums_before(const std::string& run, int phase) const;
  std::string script_name(std::size_t run, int phase) const;
  Result<std::vector<Group>> groups(const std::vector<std::size_t>& runs);
  launch::Request request(const Group& group, const fs::path& folder) const;
  void take_turns(std::vector<Group>& groups);
  UnderWay under_way() const;
  Status submit_array(Group group);
  Status submit_phases(Group group);
  void cancel_later_phases(const RunView& view);
  Result<Reply> hand_over(const Group& group);
  Result<std::size_t> write(const Group& group);
  Result<Reply> settle(std::size_t submission, const Group& group, launch::Submitted answer);
  const RunView& view(const Group& group) const { return campaign_.runs()[group.runs.front()]; }
  fs::path folder(std::size_t run) const;

  Campaign& campaign_;
  Handed handed_;
  std::map<std::pair<std::size_t, int>, record::Sums> sums_;  // by run and phase, once examined
  std::vector<std::string>
      lanes_;        // jobs that must have ended before the next of a lane, ':' between
  int unclear_ = 0;  // answers in a row after which nothing was found
};

}  // namespace orch::follow
