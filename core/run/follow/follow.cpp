#include "core/run/follow/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace orch::follow {
namespace {

using record::RunState;

// A hash of what a look saw, to detect changes in the next one.
std::size_t digest(const Campaign& campaign) {
  std::size_t out = 0;
  for (const auto& view : campaign.runs()) {
    out = out * 31 + static_cast<std::size_t>(view.record.state);
    out = out * 31 + view.attempts.size();
  }
  return out;
}

std::size_t count_open(const Campaign& campaign) {
  return static_cast<std::size_t>(
      std::count_if(campaign.runs().begin(), campaign.runs().end(), is_open));
}

void announce(const Campaign& campaign, const std::vector<std::size_t>& due) {
  for (const auto run : due) {
    const auto& view = campaign.runs()[run];
    if (view.record.state == RunState::failed)
      campaign.world().say(fmt::format(
          "{}: {} ({}); try {} of {}", view.record.id, name(view.record.failure),
          view.record.reason, tries(view, campaign.ledger()) + 1, campaign.options().retries + 1));
    if (view.record.state == RunState::stopped)
      campaign.world().say(
          fmt::format("{}: continues after: {}", view.record.id, view.record.reason));
  }
}

// A run in a job: several runs may share one.
std::string attempt_of(const FollowedRun& view) { return view.job->job + " " + view.record.id; }

// An order that failed is repeated with the next look.
Status cancel_hung(Campaign& campaign, std::set<std::string>& cancelled) {
  std::vector<std::size_t> hung;
  for (std::size_t i = 0; i < campaign.runs().size(); ++i) {
    const auto& view = campaign.runs()[i];
    if (view.record.state == RunState::running && view.job &&
        view.record.failure == record::Failure::hang && !cancelled.contains(attempt_of(view)))
      hung.push_back(i);
  }
  if (hung.empty()) return {};
  if (auto status = campaign.cancel_hung(hung); !status) return status;
  for (const auto run : hung) {
    const auto& view = campaign.runs()[run];
    cancelled.insert(attempt_of(view));
    campaign.world().say(
        fmt::format("{}: hangs ({}); cancelled", view.record.id, view.record.reason));
  }
  return {};
}

std::vector<std::size_t> due_of(const Campaign& campaign, const std::set<std::string>& only) {
  auto due = campaign.due();
  std::erase_if(due, [&](std::size_t run) {
    return !only.empty() && !only.contains(campaign.runs()[run].record.id);
  });
  return due;
}

}  // namespace

Status carry_on(Campaign& campaign, FileLock::Wait wait, const std::set<std::string>& only,
                SubmitResult& handed) {
  const auto began = campaign.begin(wait);
  if (!began) return began.error();
  if (!*began) return {};  // another orch does it
  const auto due = due_of(campaign, only);
  auto status = campaign.check_budget(due);
  if (status) {
    announce(campaign, due);
    Submitter submitter(campaign);
    status = submitter.submit(due);
    handed = submitter.handed();
  }
  campaign.end();
  return status;
}

namespace {

// True if submissions have been unanswered for a while. An orch may have been killed while it
// submitted, even the last run, after which nothing else is due; one that is submitting now gets
// the time to record the answer. since: when the first was seen; -1: all are answered.
bool doubts_are_old(const Campaign& campaign, double& since) {
  constexpr double kSeconds = 10;
  const double now = campaign.world().clock->steady();
  if (campaign.ledger().unanswered().empty())
    since = -1;
  else if (since < 0)
    since = now;
  return since >= 0 && now - since >= kSeconds;
}

// The polling interval: runs on this machine alone put no load on a scheduler.
PollInterval::Limits limits_of(const Campaign& campaign, const FollowOptions& options) {
  const auto& all = campaign.ledger().all();
  const bool here = !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& entry) {
    return entry.submission.executor == "local";
  });
  return here ? PollInterval::Limits{0.2, 2} : options.pace;
}

// Waits until the next poll; meanwhile it reads the trainers' files more often, which puts no load
// on SLURM.
void wait_and_look(Campaign& campaign, const FollowOptions& options, double seconds) {
  const auto& world = campaign.world();
  const double until = world.clock->steady() + seconds;
  while (world.clock->steady() < until && !world.interrupted()) {
    sleep(world, std::min(2.0, until - world.clock->steady()));
    if (!options.drawn || world.clock->steady() >= until) continue;
    campaign.look_at_progress();
    options.drawn(campaign);
  }
}

}  // namespace

bool follow(Campaign& campaign, const FollowOptions& options) {
  const auto& world = campaign.world();
  PollInterval pace(options.pace);
  bool silent = false;
  std::set<std::string> cancelled;  // hanging jobs that were cancelled
  std::size_t seen = 0;
  const std::vector<std::size_t> kNone;
  bool stuck = false;
  double doubtful_since = -1;
  double submit_at = 0;  // not earlier, because the queue was full or another orch was submitting
  while (true) {
    const double began = world.clock->steady();
    campaign.refresh();
    const double took = world.clock->steady() - began;
    const bool turned = silent != campaign.silent_since().has_value();
    silent = campaign.silent_since().has_value();
    if (turned) world.say(silent ? "the scheduler does not answer" : "the scheduler answers again");
    if (options.carry_on && campaign.options().cancel_hung)
      campaign.note_trouble(cancel_hung(campaign, cancelled).error());
    const auto due = [&] { return options.carry_on ? due_of(campaign, options.only) : kNone; };
    const bool doubtful = options.carry_on && doubts_are_old(campaign, doubtful_since);
    if (began >= submit_at && !silent && (doubtful || !due().empty())) {
      SubmitResult handed;
      const auto status = carry_on(campaign, FileLock::Wait::no, options.only, handed);
      campaign.note_trouble(status.error());
      stuck = !status && handed.unsafe == 0;  // unsafe runs are not due any more
      submit_at = world.clock->steady() + (handed.jobs > 0 && handed.waiting == 0 ? 0 : 30);
    }
    const auto open = count_open(campaign);
    for (const auto& trouble : campaign.take_troubles()) world.say(trouble.text());
    if (options.drawn) options.drawn(campaign);
    // If nothing is queued or running and runs still cannot be submitted, waiting will not help.
    if (open == 0 && (stuck || due().empty())) return true;
    const auto now = digest(campaign);
    // The time spent waiting in vain for an answer is not the cost of an answer.
    pace.set(limits_of(campaign, options));
    wait_and_look(campaign, options, pace.next(now != seen || turned, silent ? 0 : took));
    seen = now;
    if (world.interrupted()) return false;
  }
}

}  // namespace orch::follow
