#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

// How runs are submitted again, and how long to wait for a scheduler that is away.
void add_following(CLI::App* verb, follow::Options& to) {
  verb->add_option("--retries", to.retries, "Tries more for what fails for a passing reason")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  verb->add_option("--at-a-time", to.at_a_time, "Runs that may run at once, in all arrays together; 0: all")
      ->check(whole_number(0, 1e6))
      ->capture_default_str();
  verb->add_option("--patience", to.patience_seconds,
                   "Seconds to wait for a scheduler that does not answer")
      ->check(whole_number(0, 1e6))
      ->capture_default_str();
  verb->add_option("--settle", to.settle_seconds,
                   "Seconds before a job without a trace counts as lost")
      ->check(whole_number(0, 1e6))
      ->capture_default_str();
  verb->add_option("--hang", to.hang_seconds,
                   "No progress for so many seconds (and twenty steps' time) is a hang")
      ->check(whole_number(1, 1e7))
      ->capture_default_str();
  verb->add_flag("--cancel-hung", to.cancel_hung,
                 "Cancel runs without progress, and submit them again");
}

void add_targets(CLI::App* verb, FollowArguments& to) {
  verb->add_option("TARGET", to.targets,
                   "Experiments, or runs by id, its beginning or hash (default: all)");
  add_runs(*verb, to.runs);
  to.common.screen = screen();
}

void add_status(CLI::App& program, FollowArguments& to) {
  auto* verb = program.add_subcommand("status", "How runs stand: state, reason, speed, estimate");
  add_targets(verb, to);
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb->add_option("--top", to.top, "Rows of the table; 0 shows all")
      ->check(whole_number(0, 1e9))
      ->capture_default_str();
  verb->add_option("--hang", to.options.hang_seconds,
                   "No progress for so many seconds (and twenty steps' time) is a hang")
      ->check(whole_number(1, 1e7))
      ->capture_default_str();
  verb->footer(R"(
Examples:
  orch status
  orch status 200b --format json | jq '.runs[] | select(.state == "failed") | .reason'

What needs a look comes first. CSV and JSON are one document for all experiments: "experiments" has
their GPU-hours, "runs" the runs of all of them. Exit code 4: some runs failed.)");
}

void add_watch(CLI::App& program, FollowArguments& to) {
  auto* verb = program.add_subcommand("watch", "Follow runs live, submit again what may succeed");
  add_targets(verb, to);
  add_following(verb, to.options);
  verb->add_flag("--look-only", to.look_only, "Submit nothing");
  verb->footer(R"(
Examples:
  orch watch 200b
  orch watch 200b --look-only > changes.log

A live picture on a terminal, a line for each change elsewhere. Ctrl-C only leaves.)");
}

void add_again(CLI::App& program, Arguments& to) {
  auto* resume = program.add_subcommand("resume", "Submit what is unfinished, and follow it");
  auto* retry = program.add_subcommand("retry", "Submit failed or cancelled runs again");
  for (auto [verb, arguments] : {std::pair{resume, &to.resume}, std::pair{retry, &to.retry}}) {
    add_targets(verb, *arguments);
    add_following(verb, arguments->options);
    verb->add_flag("-y,--yes", arguments->yes, "Submit without asking");
    verb->add_flag("--detach", arguments->detach, "Submit and leave");
    verb->add_flag("--over-budget", arguments->options.over_budget,
                   "Submit also what goes over the budget");
  }
  resume->footer(R"(
Examples:
  orch resume 200b
  orch resume -y --detach

Unfinished is what was asked for and never submitted, what stopped with more to do, and what failed
for a passing reason (a node, preemption, NCCL, a hang, a job gone without a trace). First it finds
out what became of a submission that was interrupted; no run is submitted twice.)");
  retry->footer(R"(
Examples:
  orch retry 3fa9c1d2
  orch retry 200b -y --detach

Whatever the reason was, and with all its tries anew.)");
}

void add_cancel(CLI::App& program, FollowArguments& to) {
  auto* verb = program.add_subcommand("cancel", "End runs");
  add_targets(verb, to);
  verb->add_flag("-y,--yes", to.yes, "Do not ask");
  verb->add_flag("--stop", to.stop, "Let each save first; orch resume goes on from there");
  verb->get_option("TARGET")->required()->description(
      "Experiments, or runs by id, its beginning or hash");
  verb->footer("\nExamples:\n  orch cancel 3fa9c1d2\n  orch cancel 200b --stop -y");
}

void add_logs(CLI::App& program, LogsArguments& to) {
  auto* verb = program.add_subcommand("logs", "The log of a run");
  verb->add_option("RUN", to.run, "Run id, its beginning or hash, or a run folder")->required();
  add_runs(*verb, to.runs);
  verb->add_flag("-f,--follow", to.follow, "Go on as it grows, until the attempt ends");
  verb->add_option("--rank", to.rank, "Only the lines of this rank")->check(whole_number(0, 1e7));
  verb->add_option("--attempt", to.attempt, "Another attempt than the last")
      ->check(whole_number(1, 1e7));
  verb->add_option("--lines", to.lines, "Lines of its end; 0: all of it")
      ->check(whole_number(0, 1e12))
      ->capture_default_str();
  verb->footer(
      "\nExamples:\n  orch logs 3fa9c1d2 --follow\n  orch logs 3fa9c1d2 --rank 5 --lines 0\n\n"
      "Control characters are shown as \\xNN, not obeyed; attempts/<n>/stdout.log has the bytes.");
}

void add_looking(CLI::App& program, Arguments& to) {
  auto* inspect = program.add_subcommand("inspect", "What each rank of a run is doing");
  inspect->add_option("RUN", to.inspect.targets, "Run id, its beginning or hash, or a run folder")
      ->required();
  add_runs(*inspect, to.inspect.runs);
  add_format(inspect, to.inspect.common, {"table", "json"});
  inspect->footer(R"(
Examples:
  orch inspect 3fa9c1d2

Last step and last collective of every rank (from its flight recorder), and of a run that is going on
the state and stack of its processes, through a step that overlaps the job's. Ranks that are behind
the others come first: those are the ones that a hang waits for.)");
  auto* doctor = program.add_subcommand("doctor", "What this machine has, and how to get the rest");
  add_runs(*doctor, to.doctor.runs);
  add_format(doctor, to.doctor.common, {"table", "json"});
  doctor->footer("\nExamples:\n  orch doctor\n  orch doctor --format json");
  auto* index = program.add_subcommand("index", "Make the index anew from the run folders");
  add_runs(*index, to.index.runs);
  index->footer("\nExamples:\n  orch index\n  orch index --runs /scratch/me/runs");
  auto* local = program.add_subcommand("_local", "")->group("");  // what local runs are children of
  local->add_option("SUBMISSION", to.submission)->required();
  auto* words = program.add_subcommand("_words", "")->group("");  // what completions offer
  words->add_option("KIND", to.words.kind)->required();
  words->add_option("RUNS", to.words.runs);
}

}  // namespace

void add_run(CLI::App& program, RunArguments& to) {
  auto* verb = program.add_subcommand("run", "Plan, estimate, submit, follow, compare");
  add_planning(verb, to.plan);
  add_runs(*verb, to.plan.runs);
  verb->add_flag("--dry-run", to.plan.dry_run, "Show all, write nothing");
  verb->add_flag("-y,--yes", to.yes, "Submit without asking");
  verb->add_option("--take", to.take, "Submit only so many of the best of each size; 0: all")
      ->check(whole_number(0, 1e9))
      ->capture_default_str();
  verb->add_flag("--again", to.plan.again, "Run what has finished once more, as another repeat");
  verb->add_flag("--oom", to.oom, "Submit also what should not fit the memory");
  verb->add_flag("--over-budget", to.options.over_budget, "Submit also what goes over the budget");
  verb->add_flag("--detach", to.detach, "Submit and leave; orch watch follows");
  verb->add_flag("--no-calibrate", to.no_calibrate,
                 "Do not measure this machine before its first run");
  add_following(verb, to.options);
  verb->footer(R"(
Runs that fit are submitted: to SLURM, those that ask for the same as one array, phases of a ramp-up
as jobs that wait for each other; or to this machine, where the cluster's file says launch: local.
Same file, same runs: what is finished or on its way is not submitted again. Ctrl-C only leaves.
Before the first run on the cluster `local`, this machine is measured (some 10 s), if orch-measure is
built: see orch calibrate --this-machine.

Examples:
  orch run experiments/200b.lua
  orch run experiments/200b.lua --take 3 -y --detach
  orch run experiments/bloom7b_days.lua --format md > table.md
  orch run experiments/200b.lua --where 'tensor_parallel == 8 and fit == "fits"' --dry-run)");
}

void add_following_verbs(CLI::App& program, Arguments& to) {
  add_status(program, to.status);
  add_watch(program, to.watch);
  add_logs(program, to.logs);
  add_cancel(program, to.cancel);
  add_again(program, to);
  add_looking(program, to);
}

}  // namespace orch::cli
