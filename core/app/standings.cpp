#include "core/app/standings.h"

#include <fmt/format.h>

#include <algorithm>

namespace orch::app {

std::vector<std::size_t> places(const follow::Campaign& campaign, const Target& target) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < campaign.runs().size(); ++i)
    if (target.runs.empty() || target.runs.contains(campaign.runs()[i].facts.id)) out.push_back(i);
  return out;
}

namespace {

std::string job_of(const record::Submission& submission, std::size_t task) {
  if (submission.job.empty() || !submission.array) return submission.job;
  return fmt::format("{}_{}", submission.job, task);
}

}  // namespace

tables::Standings standings(const follow::Campaign& campaign, const Target& target) {
  tables::Standings out;
  out.experiment = campaign.experiment().name;
  out.budget_gpu_hours = campaign.experiment().gpu_hours;
  out.used_gpu_hours = campaign.gpu_hours_used();
  out.committed_gpu_hours = campaign.gpu_hours_committed();
  if (const auto since = campaign.silent_since())
    out.silent_seconds = std::max(0.1, campaign.world().clock->steady() - *since);
  for (const auto place : places(campaign, target)) {
    const auto& view = campaign.runs()[place];
    tables::RunStatus run;
    run.facts = view.facts;
    run.outcome = view.outcome;
    run.due = campaign.is_due(place);
    run.submissions = static_cast<int>(campaign.ledger().of(view.facts.id).size());
    const auto entry = campaign.ledger().last(view.facts.id, view.phase);
    if (view.job)
      run.job = view.job->job;
    else if (entry)
      run.job = job_of(campaign.ledger().at(*entry).submission, entry->task);
    out.runs.push_back(std::move(run));
  }
  return out;
}

Exit exit_of(const tables::Standings& standings) {
  const bool failed = std::any_of(standings.runs.begin(), standings.runs.end(), [](auto& run) {
    return run.outcome.verdict.state == record::State::failed;
  });
  return failed ? Exit::runs_failed : Exit::ok;
}

}  // namespace orch::app
