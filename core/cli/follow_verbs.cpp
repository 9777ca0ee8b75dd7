#include "core/cli/terminal.h"
#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

// Options of resubmission, and the patience for a scheduler that does not answer.
void add_following(CLI::App& verb, follow::FollowLimits& to) {
  add_count(verb, "--retries", to.retries, "Number of retries after transient failures", 0, 1000);
  add_count(verb, "--at-a-time", to.at_a_time,
            "Number of runs at a time, in all arrays together; 0: all", 0, 1e6);
  add_count(verb, "--patience", to.patience_seconds, "Seconds to wait for the scheduler to answer",
            0, 1e6);
  add_count(verb, "--settle", to.settle_seconds,
            "Seconds before a job that the scheduler does not know counts as lost", 0, 1e6);
  add_count(verb, "--hang", to.hang_seconds,
            "Seconds without progress (and at least twenty steps' time) that count as a hang", 1,
            1e7);
  verb.add_flag("--cancel-hung", to.cancel_hung,
                "Cancel runs without progress, and submit them again");
}

void add_trust(CLI::App& verb, follow::FollowLimits& to) {
  verb.add_flag("--trust", to.trust,
                "Trust run folders of other users, and scripts changed since they were submitted");
}

void add_targets(CLI::App& verb, app::FollowArguments& to) {
  verb.add_option(
      "TARGET", to.targets,
      "Experiments by name or FILE.lua, or runs by id, its beginning or hash (default: all)");
  add_runs(verb, to.runs);
  add_trust(verb, to.options);
  to.common.screen = stdout_screen();
}

}  // namespace

void declare_status(CLI::App& verb, app::FollowArguments& to) {
  add_targets(verb, to);
  add_format(verb, to.common);
  add_count(verb, "--top", to.top, "Rows of the table; 0 shows all", 0, 1e9);
  add_count(verb, "--hang", to.options.hang_seconds,
            "Seconds without progress (and at least twenty steps' time) that count as a hang", 1,
            1e7);
}

void declare_watch(CLI::App& verb, app::FollowArguments& to) {
  add_targets(verb, to);
  add_following(verb, to.options);
  verb.add_flag("--look-only", to.look_only, "Submit nothing");
}

void declare_again(CLI::App& verb, app::FollowArguments& to) {
  add_targets(verb, to);
  add_following(verb, to.options);
  verb.add_flag("-y,--yes", to.yes, "Submit without asking");
  verb.add_flag("--detach", to.detach, "Submit and exit");
  verb.add_flag("--over-budget", to.options.over_budget, "Submit even if the budget is exceeded");
}

void declare_cancel(CLI::App& verb, app::FollowArguments& to) {
  add_targets(verb, to);
  verb.add_flag("-y,--yes", to.yes, "Do not ask");
  verb.add_flag("--stop", to.stop, "Let each save first; orch resume goes on from there");
  verb.get_option("TARGET")->required()->description(
      "Experiments by name or FILE.lua, or runs by id, its beginning or hash");
}

void declare_logs(CLI::App& verb, app::LogsArguments& to) {
  verb.add_option("RUN", to.run, "Run id, its beginning or hash, or a run folder")->required();
  add_runs(verb, to.runs);
  verb.add_flag("-f,--follow", to.follow, "Follow the log until the attempt ends");
  add_count(verb, "--rank", to.rank, "Only lines of this rank", 0, 1e7);
  add_count(verb, "--attempt", to.attempt, "Number of the attempt (default: the last)", 1, 1e7);
  add_count(verb, "--lines", to.lines, "Number of lines from the end; 0: all", 0, 1e12);
}

void declare_inspect(CLI::App& verb, app::FollowArguments& to) {
  verb.add_option("RUN", to.targets,
                  "Run id, its beginning or hash, a run folder, or an experiment of one run "
                  "(FILE.lua or a name)")
      ->required();
  add_runs(verb, to.runs);
  add_format(verb, to.common);
}

void declare_doctor(CLI::App& verb, app::DoctorArguments& to) {
  add_runs(verb, to.runs);
  auto* nodes =
      add_count(verb, "--nodes", to.nodes, "Number of nodes to measure by a short job", 1, 64);
  verb.add_option("--on", to.on, "With --nodes: where")
      ->type_name("CLUSTER/PARTITION")
      ->needs(nodes);
  add_set(verb, to.set);
  verb.get_option("--set")->needs(nodes);
  verb.add_flag("--write", to.write,
                "With --nodes: put latencies and bandwidths into the cluster's file")
      ->needs(nodes);
  verb.add_flag("-y,--yes", to.yes, "Submit without asking");
  add_format(verb, to.common);
}

void declare_index(CLI::App& verb, app::FollowArguments& to) { add_runs(verb, to.runs); }

void declare_run(CLI::App& verb, app::RunArguments& to) {
  declare_plan(verb, to.plan);
  add_runs(verb, to.plan.options.runs);
  verb.add_flag("--dry-run", to.dry_run, "Show all, write nothing");
  verb.add_flag("-y,--yes", to.yes, "Submit without asking");
  add_count(
      verb, "--take", to.take,
      "Number of runs to submit, best first, of each size, sequence length and machine; 0: all", 0,
      1e9);
  verb.add_flag("--again", to.plan.options.again, "Run finished runs once more, as another repeat");
  verb.add_flag("--oom", to.oom, "Submit also runs that are estimated not to fit the memory");
  verb.add_flag("--over-budget", to.options.over_budget, "Submit even if the budget is exceeded");
  verb.add_flag("--detach", to.detach, "Submit and exit; orch watch follows");
  verb.add_flag("--no-calibrate", to.no_calibrate,
                "Do not measure this machine before its first run");
  add_trust(verb, to.options);
  add_following(verb, to.options);
}

void declare_tune(CLI::App& verb, app::TuneArguments& to) {
  declare_plan(verb, to.run.plan);
  add_runs(verb, to.run.plan.options.runs);
  verb.add_option_function<double>(
          "--regret", [&to](double percent) { to.limits.regret = percent / 100; },
          "Stop when no run is expected to be faster than the best by more than this (default: 2)")
      ->type_name("PERCENT")
      ->check(positive_number());
  add_count(verb, "--measure", to.limits.measured,
            "Largest number of runs to measure, of each size, sequence length and machine", 1, 1e4);
  verb.add_option("--gpu-hours", to.gpu_hours, "GPU-hours that the measurements may take")
      ->check(positive_number());
  add_count(verb, "--steps", to.steps, "Steps of a measurement", 2, 1e6);
  add_count(verb, "--together", to.together,
            "Number of runs that a SLURM job measures one after another", 1, 100);
  verb.add_option(
          "--minutes", to.minutes,
          "Time limit of a measurement under SLURM (default: 10 minutes and five times what "
          "its steps are expected to take)")
      ->check(positive_number());
  verb.add_flag("-y,--yes", to.run.yes, "Submit without asking");
  verb.add_flag("--oom", to.run.oom, "Try also runs that are estimated not to fit the memory");
  verb.add_flag("--write", to.write,
                "Fit the machine's constants to the measurements, and keep them");
  verb.add_flag("--no-calibrate", to.run.no_calibrate,
                "Do not measure this machine before its first run");
  add_trust(verb, to.run.options);
  add_following(verb, to.run.options);
}

}  // namespace orch::cli
