#include "core/app/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/places.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/store.h"

namespace orch::app {

AppSession::AppSession() : say([](const std::string&) {}), slurm_(launch::probe_slurm(shell_)) {
  if (slurm_ != launch::SlurmAnswer::absent)
    slurm_executor_ = std::make_unique<launch::SlurmExecutor>(shell_, clock_);
}

AppSession::AppSession(Console& console) : AppSession() {
  say = [&console](const std::string& line) { console.note(line + "\n"); };
}

follow::FollowEnvironment AppSession::world(const fs::path& experiment_folder) {
  const auto program = own_program();
  launch::LocalOptions options;
  options.experiment_folder = fs::absolute(experiment_folder);
  options.supervisor = {program.string(), "_local"};
  options.trainers = program.parent_path();
  local_executor_ = std::make_unique<launch::LocalExecutor>(std::move(options), clock_);
  follow::FollowEnvironment world;
  world.slurm = slurm_executor_.get();
  world.local = local_executor_.get();
  world.clock = &clock_;
  world.say = [this](const std::string& line) { say(line); };
  world.interrupted = interrupted;
  world.log_progress = [this](const fs::path& folder, double now) {
    return logs_.progress(folder, now);
  };
  world.confession = [this](const fs::path& folder) { return logs_.confession(folder); };
  return world;
}

namespace {

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "run.json", ignored);
}

// "runs/tiny/" means "runs/tiny".
fs::path plain(const std::string& word) {
  const fs::path path = word;
  return path.has_filename() ? path : path.parent_path();
}

// The name of the experiment in a file.
Result<std::string> name_in(const fs::path& file) {
  const auto app = App::create();
  if (!app) return app.error();
  const auto experiment = (*app)->load({file});
  if (!experiment) return experiment.error();
  return experiment->name;
}

Status add_target(const fs::path& root, const std::string& word,
                  const std::vector<std::string>& experiments,
                  std::map<std::string, SessionTarget>& out) {
  const auto path = plain(word);
  std::error_code ignored;
  const auto name = path.filename().string();
  const bool below_root =
      fs::equivalent(path.parent_path().empty() ? "." : path.parent_path(), root, ignored);
  if (contains(experiments, word) || (below_root && contains(experiments, name))) {
    out[name] = {name, {}};
    return {};
  }
  if (path.extension() == ".lua" && fs::is_regular_file(path, ignored)) {
    const auto experiment = name_in(path);
    if (!experiment) return experiment.error();
    if (!contains(experiments, *experiment))
      return Error{printable(word),
                   fmt::format("its experiment '{}' has no runs below {}", *experiment,
                               printable(root.string())),
                   fmt::format("orch run {} makes some", shell_path(path))};
    out[*experiment] = {*experiment, {}};
    return {};
  }
  fs::path folder = path;
  if (!is_run(path)) {
    const auto found = store::RunStore(root).find(word);
    if (!found) {
      const auto near = nearest(word, experiments);
      if (!near) return found.error();
      return Error{printable(word), "no such experiment or run below " + printable(root.string()),
                   "did you mean '" + *near + "'?"};
    }
    folder = *found;
  }
  const auto experiment = folder.parent_path().filename().string();
  const bool all = out.contains(experiment) && out[experiment].runs.empty();
  out[experiment].experiment = experiment;
  if (!all) out[experiment].runs.insert(folder.filename().string());
  return {};
}

std::string job_of(const record::Submission& submission, std::size_t task) {
  if (submission.job.empty() || !submission.array) return submission.job;
  return fmt::format("{}_{}", submission.job, task);
}

}  // namespace

Result<std::vector<SessionTarget>> find_targets(const fs::path& root,
                                                const std::vector<std::string>& words) {
  const auto experiments = store::experiments(root);
  if (experiments.empty())
    return Error{printable(root.string()), "no runs",
                 "orch run FILE.lua makes some; --runs names another folder"};
  std::map<std::string, SessionTarget> targets;
  if (words.empty())
    for (const auto& name : experiments) targets[name] = {name, {}};
  Errors errors;
  for (const auto& word : words) errors.add(add_target(root, word, experiments, targets));
  if (!errors.empty()) return errors;
  std::vector<SessionTarget> out;
  for (auto& [name, target] : targets) out.push_back(std::move(target));
  return out;
}

bool tell_troubles(follow::Campaign& campaign, Console& console) {
  const auto troubles = campaign.take_troubles();
  console.complain(troubles);
  return !troubles.empty();
}

std::vector<std::size_t> places(const follow::Campaign& campaign, const SessionTarget& target) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < campaign.runs().size(); ++i)
    if (target.runs.empty() || target.runs.contains(campaign.runs()[i].record.id)) out.push_back(i);
  return out;
}

tables::Standings standings(const follow::Campaign& campaign, const SessionTarget& target) {
  tables::Standings out;
  out.experiment = campaign.experiment().name;
  out.budget_gpu_hours = campaign.experiment().budget.gpu_hours;
  out.used_gpu_hours = campaign.gpu_hours_used();
  out.committed_gpu_hours = campaign.gpu_hours_committed();
  if (campaign.silent_since()) out.silent_seconds = std::max(0.1, campaign.silent_seconds());
  for (const auto place : places(campaign, target)) {
    const auto& view = campaign.runs()[place];
    tables::RunStatus run{view};
    run.due = campaign.is_due(place);
    run.submissions = static_cast<int>(campaign.ledger().of(view.record.id).size());
    const auto entry = campaign.ledger().last(view.record.id, view.phase);
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
    return run.record.state == record::RunState::failed;
  });
  return failed ? Exit::runs_failed : Exit::ok;
}

}  // namespace orch::app
