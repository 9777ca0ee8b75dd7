#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/app/framework_check.h"
#include "core/app/session.h"
#include "core/app/trainers.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/check.h"
#include "core/run/launch/local/local_run.h"
#include "core/run/launch/slurm/array_script.h"
#include "core/run/launch/slurm/preflight.h"
#include "core/run/store/store.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using ChosenRuns = std::vector<const plan::Planned*>;

// The phases of a ramp-up wait for each other.
std::string sbatch_by_hand(std::size_t phases, const fs::path& folder) {
  const std::string sbatch =
      launch::can_log_below(fs::absolute(folder)) ? "sbatch" : "sbatch --output=/dev/null";
  if (phases == 1) return sbatch + " job.sbatch";
  std::string out = fmt::format("j=$({} --parsable job.sbatch)", sbatch);
  for (std::size_t i = 2; i < phases; ++i)
    out += fmt::format(" && j=$({} --parsable --dependency=afterok:$j job-{}.sbatch)", sbatch, i);
  return out + fmt::format(" && {} --dependency=afterok:$j job-{}.sbatch", sbatch, phases);
}

fs::path folder_of(const plan::Planned& run, const RunArguments& arguments) {
  return fs::path(arguments.plan.options.runs) / run.run.experiment / run.run.id;
}

// Selects the runs worth running: those that fit and are individually within the budget's limits; a
// given number per question. Runs that none of our trainers can train are put aside.
ChosenRuns choose(const PlannedExperiment& planned, const RunArguments& arguments,
                  ChosenRuns& untrained) {
  ChosenRuns chosen;
  for (const auto& runs : tables::by_question(view(planned))) {
    std::size_t taken = 0;
    for (const auto* run : runs) {
      if (run->estimate.fit == plan::MemoryFit::oom && !arguments.oom) continue;
      if (!arguments.options.over_budget && !tables::keeps(*run, planned.experiment)) continue;
      if (arguments.take > 0 && taken == arguments.take) break;
      (is_untrained(run->run) ? untrained : chosen).push_back(run);
      taken += is_untrained(run->run) ? 0 : 1;
    }
  }
  return chosen;
}

Ending nothing_to_run(const PlannedExperiment& planned, const RunArguments& arguments,
                      Console& console) {
  const auto& best = planned.runs.front();
  const bool none_fits = best.estimate.fit == plan::MemoryFit::oom;
  arguments.plan.common.tell(
      fmt::format("stopped here: {}\nnext, to see what {}: orch explain {}\n",
                  none_fits ? "no run fits the memory of its GPUs" : "no run keeps the budget",
                  none_fits ? "takes it" : "the fastest one spends",
                  shell_path(folder_of(best, arguments))),
      console);
  return Exit::ok;
}

// Ends a verb whose runs need SLURM, when SLURM does not answer.
Ending without_slurm(const ChosenRuns& chosen, launch::SlurmAnswer slurm,
                     const RunArguments& arguments, Console& console) {
  const auto& best = **std::find_if(chosen.begin(), chosen.end(), [&](const auto* run) {
    return way_to_launch(run->run, slurm) == "slurm";
  });
  const auto submit =
      fmt::format("cd {} && {}", shell_path(folder_of(best, arguments)),
                  sbatch_by_hand(plan::phases(best.run).size(), folder_of(best, arguments)));
  if (slurm == launch::SlurmAnswer::absent) {
    arguments.plan.common.tell(
        fmt::format("stopped after rendering: SLURM not found (no sbatch, or not configured)\n"
                    "next, on the cluster: {}\n",
                    submit),
        console);
    return arguments.yes ? Exit::scheduler_unreachable : Exit::ok;
  }
  const auto& name = best.run.experiment;
  arguments.plan.common.tell(
      fmt::format("stopped after rendering: SLURM is installed but its controller does "
                  "not answer (scontrol ping)\nnext, once it does: {}\n",
                  arguments.yes ? "orch resume " + shell_path(name) : submit),
      console);
  return Exit::scheduler_unreachable;
}

// Prevents hundreds of jobs that would all fail with "no such program". For local runs the trainer
// can be built.
std::optional<fs::path> missing_trainer(const App& app, launch::SlurmAnswer slurm,
                                        const ChosenRuns& chosen) {
  for (const auto* run : chosen) {
    if (can_build_trainers() && way_to_launch(run->run, slurm) == "local") continue;
    if (!run->run.trainer.empty() || !run->run.framework.empty()) continue;
    const auto trainer = launch::find_trainer(run->run, app.places().trainers);
    if (trainer.path.empty()) return trainer.wanted;
  }
  return std::nullopt;
}

void tell_untrained(const ChosenRuns& runs, bool all, const RunArguments& arguments,
                    Console& console) {
  const auto& first = *runs.front();
  arguments.plan.common.tell(
      fmt::format("{}: {}{}: {}\nnext: trainer = \"...\" in the experiment names a program that "
                  "can; or orch "
                  "explain {}\n",
                  all ? "stopped here" : "left out", first.run.id,
                  runs.size() > 1 ? fmt::format(" and {} more", runs.size() - 1) : "",
                  plan::cannot_train(first.run), shell_path(folder_of(first, arguments))),
      console);
}

Ending without_trainer(const fs::path& trainer, const ChosenRuns& chosen,
                       const RunArguments& arguments, Console& console) {
  arguments.plan.common.tell(
      fmt::format(
          "stopped here: no trainer to start: {}\n"
          "next: build it (./orch of a clone does so by itself; or cmake --preset cpu and cmake "
          "--build --preset cpu --target {}), or name a program in ORCH_TRAINER; or orch "
          "explain {}\n",
          printable(trainer.string()), printable(trainer.filename().string()),
          shell_path(folder_of(*chosen.front(), arguments))),
      console);
  return arguments.yes ? Exit::error : Exit::ok;  // --yes asked for more than folders
}

// Asks the programs of all frameworks for their versions, before anything is started. On this
// machine a missing one ends the verb; jobs may find another where they run.
Ending check_frameworks(const App& app, launch::SlurmAnswer slurm, const ChosenRuns& chosen,
                        const RunArguments& arguments, Console& console) {
  FrameworkCheck check(app.places().home);
  for (const auto* run : chosen) {
    const auto problem = check.ask(run->run, folder_of(*run, arguments));
    if (problem.empty()) continue;
    if (way_to_launch(run->run, slurm) == "local") {
      arguments.plan.common.tell("stopped here: " + problem, console);
      return arguments.yes ? Exit::error : Exit::ok;
    }
    arguments.plan.common.tell("on this machine, though jobs may find another: " + problem,
                               console);
  }
  return Exit::ok;
}

// The runs that were not started yet, and their estimated cost.
struct LaunchOrder {
  std::vector<std::size_t> runs;  // indices in the campaign
  double gpu_hours = 0;
  std::size_t finished = 0;  // already finished
  std::size_t on_their_way = 0;
  std::size_t failed = 0;  // failed for a permanent reason
};

LaunchOrder order_of(const follow::Campaign& campaign, const ChosenRuns& chosen) {
  LaunchOrder order;
  for (const auto* run : chosen) {
    const auto place = campaign.find(run->run.id);
    if (!place) continue;
    const auto& view = campaign.runs()[*place];
    const auto state = view.record.state;
    if (state == record::RunState::finished)
      ++order.finished;
    else if (follow::is_open(view))
      ++order.on_their_way;
    else if (state != record::RunState::planned && !campaign.is_due(*place))
      ++order.failed;
    else {
      order.runs.push_back(*place);
      order.gpu_hours += view.estimated_hours();
    }
  }
  return order;
}

std::string already_text(const LaunchOrder& order) {
  std::vector<std::string> parts;
  if (order.finished > 0) parts.push_back(fmt::format("{} finished", order.finished));
  if (order.on_their_way > 0)
    parts.push_back(fmt::format("{} queued or running", order.on_their_way));
  if (order.failed > 0)
    parts.push_back(fmt::format("{} failed or cancelled (orch retry)", order.failed));
  return parts.empty() ? "" : join(parts, ", ") + "\n";
}

std::string question_of(const follow::Campaign& campaign, const LaunchOrder& order,
                        std::size_t jobs, const ChosenRuns& chosen) {
  std::map<std::string, std::size_t> places;
  for (const auto* run : chosen)
    if (const auto place = campaign.find(run->run.id);
        place && std::find(order.runs.begin(), order.runs.end(), *place) != order.runs.end())
      ++places[run->run.cluster->name + "/" + run->run.partition->name];
  std::vector<std::string> where;
  for (const auto& [name, count] : places)
    where.push_back(places.size() == 1 ? name : fmt::format("{} on {}", count, name));
  auto out =
      fmt::format("submit {} as {} ({}), up to {} GPU-hours", plural(order.runs.size(), "run"),
                  plural(jobs, "job"), join(where, ", "), tables::significant(order.gpu_hours));
  if (const double budget = campaign.experiment().budget.gpu_hours; budget > 0)
    out += fmt::format(", {} % of the budget", tables::significant(100 * order.gpu_hours / budget));
  return out + "?";
}

// Runtimes and images that this machine does not have, each once.
Errors missing_containers(AppSession& session, const ChosenRuns& runs) {
  Errors out;
  const auto add = [&](Error error) {
    if (!contains(out, error)) out.push_back(std::move(error));
  };
  for (const auto* planned : runs) {
    const auto& container = planned->run.job.container;
    if (!container.given() || way_to_launch(planned->run, session.slurm()) != "slurm") continue;
    for (auto& error :
         plan::find_container(container, !planned->run.job.setup.empty(), "container"))
      add(std::move(error));
    if (container.runtime != "pyxis") continue;
    const auto help = session.shell().run({{"srun", "--help"}});
    if (help && help->out.find("--container-image") == std::string::npos)
      add({"container", "srun has no option --container-image: Pyxis is not installed here",
           "ask the site, or name another runtime"});
  }
  return out;
}

// Compares the requests of runs with the cluster as SLURM describes it, before anything is
// submitted: reports every contradiction with the cluster's file.
Ending preflight(AppSession& session, const ChosenRuns& runs) {
  std::set<launch::JobRequest> asks;
  if (auto missing = missing_containers(session, runs); !missing.empty())
    return {missing, Exit::invalid_experiment};
  for (const auto* planned : runs) {
    const auto& run = planned->run;
    if (way_to_launch(run, session.slurm()) != "slurm") continue;
    launch::JobRequest ask;
    ask.place = fmt::format("{}: {}", printable(run.cluster->file), run.partition->name);
    ask.partition = run.job.partition;
    ask.time = run.job.time;
    ask.nodes = run.nodes + run.job.spare_nodes.value_or(0);
    ask.gres = run.job.gres.empty()
                   ? fmt::format("gpu:{}", std::min(run.gpus, run.partition->gpus_per_node))
                   : run.job.gres;
    ask.constraint = run.job.constraint;
    ask.account = run.job.account;
    ask.qos = run.job.qos;
    asks.insert(std::move(ask));
  }
  const auto facts = session.slurm_executor()->client().facts();
  if (!facts) return {facts.error(), Exit::scheduler_unreachable};
  if (auto status = launch::preflight(*facts, asks); !status)
    return {status.error(), Exit::invalid_experiment};
  return Exit::ok;
}

// Waits for a controller that is temporarily away; only if no user waits for an answer.
bool comes_back(AppSession& session, const RunArguments& arguments) {
  follow::Backoff backoff(session.clock(), arguments.yes ? arguments.options.patience_seconds : 0);
  const auto world = session.world(arguments.plan.options.runs);
  while (session.slurm() == launch::SlurmAnswer::unreachable && backoff.wait(world))
    session.probe();
  return session.slurm() == launch::SlurmAnswer::reachable;
}

// Records the runs as wanted, for a resume when SLURM answers again.
Status ask_for(const PlannedExperiment& planned, const ChosenRuns& chosen,
               const RunArguments& arguments) {
  const auto folder = fs::path(arguments.plan.options.runs) / planned.experiment.name;
  if (auto status = store::write_experiment(folder, planned.experiment); !status) return status;
  const auto lock = FileLock::take(folder / "lock", FileLock::Wait::yes);
  if (!lock) return lock.error();
  return store::add_wanted(folder, mapped(chosen, [](const auto* run) { return run->run.id; }));
}

// Records the wanted runs and submits them under the lock, taking into account what others did
// meanwhile.
Ending hand_over(follow::Campaign& campaign, const ChosenRuns& chosen,
                 const RunArguments& arguments, Console& console) {
  if (auto begun = campaign.begin(FileLock::Wait::yes); !begun)
    return {begun.error(), campaign.silent_since() ? Exit::scheduler_unreachable : Exit::error};
  const auto order = order_of(campaign, chosen);
  if (auto status = campaign.check_budget(order.runs); !status)
    return {status.error(), Exit::over_budget};
  follow::Submitter submitter(campaign);
  if (auto status = submitter.test(order.runs); !status)
    return {status.error(), Exit::invalid_experiment};
  if (auto status = campaign.want(order.runs); !status) return status.error();
  const auto status = submitter.submit(order.runs);
  campaign.end();
  const auto& handed = submitter.handed();
  arguments.plan.common.tell(
      fmt::format("{} submitted as {}\n", plural(handed.runs, "run"), plural(handed.jobs, "job")),
      console);
  if (handed.waiting > 0)
    arguments.plan.common.tell(fmt::format("{} wait for room\n", plural(handed.waiting, "run")),
                               console);
  if (!status) return {status.error(), handed.silent ? Exit::scheduler_unreachable : Exit::error};
  return handed.runs == 0 && handed.refused > 0 ? Exit::runs_failed : Exit::ok;
}

// Asks for confirmation if a user can be asked. The lock is not held while a user decides. Runs on
// this machine cost no allocation: without a terminal they start without asking.
Ending ask(follow::Campaign& campaign, const ChosenRuns& chosen, const LaunchOrder& order,
           bool is_local, const RunArguments& arguments, Console& console) {
  if (auto status = campaign.check_budget(order.runs); !status)
    return {status.error(), Exit::over_budget};
  if (is_local && !console.can_ask()) return Exit::ok;
  const auto jobs = follow::Submitter(campaign).count_jobs(order.runs);
  if (!jobs) return jobs.error();
  const auto question = question_of(campaign, order, *jobs, chosen);
  if (arguments.yes || console.confirm(question)) return Exit::ok;
  return interrupted() ? Exit::interrupted : Exit::usage;
}

}  // namespace

bool is_untrained(const plan::Run& run) {
  return run.trainer.empty() && run.framework.empty() && !plan::cannot_train(run).empty();
}

std::string way_to_launch(const plan::Run& run, launch::SlurmAnswer slurm) {
  const auto& launch = run.cluster->launch;
  if (launch != "auto") return launch;
  return slurm == launch::SlurmAnswer::absent ? "local" : "slurm";
}

Ending launch_runs(App& app, AppSession& session, const PlannedExperiment& planned,
                   const RunArguments& arguments, std::optional<tables::Standings>& end,
                   Console& console) {
  ChosenRuns untrained;
  const auto chosen = choose(planned, arguments, untrained);
  if (!untrained.empty()) tell_untrained(untrained, chosen.empty(), arguments, console);
  if (chosen.empty() && !untrained.empty()) return arguments.yes ? Exit::error : Exit::ok;
  if (chosen.empty()) return nothing_to_run(planned, arguments, console);
  const bool needs_slurm = std::any_of(chosen.begin(), chosen.end(), [&](const auto* run) {
    return way_to_launch(run->run, session.slurm()) == "slurm";
  });
  if (needs_slurm && !comes_back(session, arguments)) {
    if (arguments.yes && session.slurm() == launch::SlurmAnswer::unreachable)
      if (auto status = ask_for(planned, chosen, arguments); !status) return status.error();
    return without_slurm(chosen, session.slurm(), arguments, console);
  }
  if (const auto trainer = missing_trainer(app, session.slurm(), chosen))
    return without_trainer(*trainer, chosen, arguments, console);
  if (auto ended = check_frameworks(app, session.slurm(), chosen, arguments, console); !ended.ok())
    return ended;
  if (needs_slurm)
    if (auto ended = preflight(session, chosen); !ended.ok()) return ended;

  const auto& name = planned.experiment.name;
  const auto folder = fs::path(arguments.plan.options.runs) / name;
  if (auto status = store::write_experiment(folder, planned.experiment); !status)
    return status.error();
  follow::Campaign campaign(arguments.plan.options.runs, name, session.world(folder),
                            arguments.options);
  if (auto status = campaign.open(); !status) return status.error();
  campaign.refresh();
  tell_troubles(campaign, console);
  const auto order = order_of(campaign, chosen);
  arguments.plan.common.tell(already_text(order), console);
  if (!order.runs.empty()) {
    if (auto ended = build_trainers(local_backends(campaign, order.runs)); !ended.ok())
      return ended;
    if (auto ended = ask(campaign, chosen, order, !needs_slurm, arguments, console); !ended.ok())
      return ended;
    if (auto ended = hand_over(campaign, chosen, arguments, console); !ended.ok()) return ended;
  }
  SessionTarget target{name, {}};
  for (const auto* run : chosen) target.runs.insert(run->run.id);
  Ending ended = Exit::ok;
  if (arguments.detach)
    arguments.plan.common.tell(fmt::format("next: orch watch {}\n", name), console);
  else
    ended = follow_and_report(session, campaign, target, arguments.plan.common, true, console);
  end = standings(campaign, target);
  return ended;
}

}  // namespace orch::app
