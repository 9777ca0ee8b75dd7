#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "core/cli/app.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/usage.h"

namespace orch::cli {
namespace {

int output_error = 0;  // the first errno of a write to stdout

bool wants_color(int descriptor) {
  const char* plain = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && !(plain && *plain) &&
         !(term && std::string_view(term) == "dumb");
}

}  // namespace

int fail(const Errors& errors, int code) {
  const report::Screen screen{0, wants_color(2)};
  for (const auto& error : errors)
    std::fprintf(stderr, "%s %s\n", report::paint("error:", "31", screen).c_str(),
                 error.text().c_str());
  return code;
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && output_error == 0)
    output_error = errno;
}

namespace {

constexpr const char* kExitCodes = R"(
Exit codes: 0 ok, 1 error, 2 usage, 3 invalid experiment, 4 some runs failed,
  5 scheduler unreachable, 6 over budget, 130 interrupted.
Environment: NO_COLOR, COLUMNS; ORCH_HOME (experiments/ and templates/), ORCH_PLUGINS (folders).)";

report::Screen screen() {
  report::Screen screen;
  winsize size{};
  if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0) screen.width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"))
    screen.width = std::strtoul(columns, nullptr, 10);
  // Nobody reads a table in fewer columns than this; it is rather cut off by the terminal.
  if (screen.width > 0) screen.width = std::max<std::size_t>(screen.width, 40);
  screen.color = wants_color(1);
  return screen;
}

// Everything that the command line can say.
struct Arguments {
  PlanArguments plan, run;
  SearchArguments search;
  ExplainArguments explain;
  ListArguments backends, clusters;
  ModelArguments models;
  ValidateArguments validate;
  CalibrateArguments calibrate;
  std::string shell;
};

void add_format(CLI::App* verb, Common& common, std::vector<std::string> formats) {
  common.screen = screen();
  verb->add_option("--format", common.format, "How to print")
      ->check(one_of(std::move(formats)))
      ->capture_default_str();
}

void add_start(CLI::App* verb, std::string& start) {
  verb->add_option("--start", start, "The day the training begins, instead of the experiment's")
      ->check(date());
}

void add_planning(CLI::App* verb, PlanArguments& to) {
  verb->add_option("FILE", to.file, "Experiment in Lua")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb->add_option("--where", to.where, "Keep runs for which this Lua expression is true");
  verb->add_option("--top", to.top, "Rows of the table; 0 shows all")
      ->check(whole_number(0, 1e9))
      ->capture_default_str();
  add_start(verb, to.start);
  verb->add_option("--max-runs", to.max_runs, "Refuse to expand more runs than this")
      ->check(whole_number(1, 1e9))
      ->capture_default_str();
}

void add_run(CLI::App& program, PlanArguments& to) {
  auto* verb = program.add_subcommand("run", "Plan, estimate, render jobs, compare side by side");
  add_planning(verb, to);
  verb->add_option("--runs", to.runs, "Folder of the run folders")->capture_default_str();
  verb->add_flag("--dry-run", to.dry_run, "Show all, write nothing");
  verb->footer(R"(
Examples:
  orch run experiments/200b.lua
  orch run experiments/bloom7b_days.lua --format md > table.md
  orch run experiments/200b.lua --where 'tensor_parallel == 8 and fit == "fits"' --dry-run)");
}

void add_plan(CLI::App& program, PlanArguments& to) {
  auto* verb = program.add_subcommand("plan", "Expand, check and estimate; write nothing");
  add_planning(verb, to);
  verb->footer(R"(
Examples:
  orch plan experiments/200b.lua --top 5
  orch plan experiments/200b.lua --format json | jq '.rejected[].reasons[].fact')");
}

void add_search(CLI::App& program, SearchArguments& to) {
  auto* verb =
      program.add_subcommand("search", "The best layout of all that can be, without lists");
  verb->add_option("FILE", to.file, "Experiment in Lua")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb->add_option("--keep", to.keep, "Keep the experiment's own values of this field (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  verb->add_option("--open", to.open, "Try every value of this field, or of all (repeatable)")
      ->allow_extra_args(false)
      ->type_name("FIELD");
  verb->add_option("--where", to.where, "Only what this Lua expression is true for");
  verb->add_option("--top", to.top, "Layouts in the list")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  verb->add_option("--threads", to.threads, "Threads; 0: one for each core")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  verb->add_option("--write", to.write, "Write the best as an experiment to this file");
  verb->footer(R"(
Model, hardware, batch, constraints, budget and strategies are the experiment's. Open are the fields
of the layout: tensor_parallel, pipeline_parallel, micro_batch, interleave, recompute, zero_stage,
stage, offload, sequence_parallel, stage_partition, sharding; data_parallel and accumulate follow.
Everything else stays as the experiment has it; lists in it are all tried.
A list has one row per layout, at its best settings. Shapes of a model are searched where the
experiment says so; a plan ignores it:
  search = { params = "176B", tolerance = 0.03, layers = { from = 60, to = 110 },
             hidden_multiple = 128, heads = { 64, 96, 112, 128 } }

Examples:
  orch search experiments/200b.lua
  orch search experiments/200b.lua --keep zero_stage --open flash_attention --top 5
  orch search experiments/search_176b.lua --where 'tensor_parallel <= 8' --write best.lua
  orch search experiments/200b.lua --open all --format json | jq '.best[0]')");
}

void add_explain(CLI::App& program, ExplainArguments& to) {
  auto* verb =
      program.add_subcommand("explain", "Memory and time of one run, item by item, with formulas");
  verb->add_option("RUN", to.run,
                   "Run id, its beginning or hash, a run folder, or FILE.lua (its best)")
      ->required();
  add_format(verb, to.common, {"table", "json"});
  verb->add_option("--where", to.where,
                   "With FILE.lua: the best of the runs for which this is true");
  add_start(verb, to.start);
  verb->add_option("--runs", to.runs, "Folder of the run folders")->capture_default_str();
  verb->footer(R"(
Examples:
  orch explain experiments/200b.lua
  orch explain experiments/200b.lua --where 'pipeline_parallel == 12'
  orch explain experiments/200b.lua --start 2026-12-01
  orch explain 3fa9c1d2)");
}

void add_lists(CLI::App& program, Arguments& to) {
  auto* backends = program.add_subcommand("backends", "Strategies that the backends offer");
  backends->add_option("NAME", to.backends.name, "Only this strategy or backend");
  add_format(backends, to.backends.common, {"table", "md", "json"});
  backends->footer("\nExamples:\n  orch backends\n  orch backends deepspeed");
  auto* clusters =
      program.add_subcommand("clusters", "Clusters, or one with the origin of its numbers");
  clusters->add_option("NAME", to.clusters.name, "Only this cluster, in full");
  add_format(clusters, to.clusters.common, {"table", "md", "json"});
  clusters->footer("\nExamples:\n  orch clusters\n  orch clusters jean-zay");
}

void add_models(CLI::App& program, ModelArguments& to) {
  auto* verb = program.add_subcommand("models", "Model presets, their sizes and bytes per GPU");
  verb->add_option("NAME", to.name, "Only this model, with its parts");
  add_format(verb, to.common, {"table", "md", "json"});
  verb->add_option("--tensor-parallel", to.tensor_parallel, "Split each layer")
      ->check(whole_number(1, 65536));
  verb->add_option("--pipeline-parallel", to.pipeline_parallel, "Spread the layers")
      ->check(whole_number(1, 65536));
  verb->add_option("--bytes-per-param", to.bytes_per_param, "Weights, gradients, optimizer")
      ->check(positive_number())
      ->capture_default_str();
  verb->add_option("--params", to.params, "A size instead of a model")->check(positive_number());
  verb->add_option("--tokens", to.tokens, "How long at a given rate: tokens")
      ->check(positive_number());
  verb->add_option("--tflops", to.tflops, "the rate per GPU")->check(positive_number());
  verb->add_option("--gpus", to.gpus, "and the GPUs")->check(positive_number());
  verb->footer(R"(
Examples:
  orch models
  orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
  orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350)");
}

void add_validate(CLI::App& program, ValidateArguments& to) {
  auto* verb = program.add_subcommand("validate", "Hold estimates against measured runs");
  verb->add_option("FILE", to.files,
                   "Measured rows in CSV; without it, the published ones of orch");
  add_format(verb, to.common, {"table", "md", "csv", "json", "svg"});
  verb->add_option("--cluster", to.cluster, "For rows whose site is none of our clusters");
  verb->add_option("--calibrate", to.calibrate, "What is fitted before it is held against rows")
      ->check(one_of({"none", "datasheet", "first", "loto"}))
      ->capture_default_str();
  verb->add_option("--without", to.without, "Leave this ingredient of estimates out (repeatable)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  verb->add_flag("--rows", to.rows, "Every row, not only the worst");
  verb->footer(R"(
Examples:
  orch validate
  orch validate mine.csv --cluster dgx-a100 --rows
  orch validate --format svg > predicted.svg
  orch validate mine.csv --format json | jq '.by_source[].mape'
  orch validate --calibrate loto --without 'LM head' --without bubble

--calibrate none takes clusters as shipped, datasheet only what their datasheets say, first one
  factor from each table's first row, loto refits with each table left out in turn (with each
  fifth of the rows, where a source has but one or two tables).
--without takes the name of an operation, a block or an item of memory as orch explain shows it, or
  alignment, bubble, communication, eras, memory-bound, partition (of layers over stages),
  recompute, slowest stage. With loto the other constants are fitted anew. What gets worse without
  an ingredient is what it is worth.
Columns come in any order, and cells may be empty. id, gpu, gpus, framework, layers and hidden must
  be there; experiments/measured/*.csv show the others.)");
}

void add_calibrate(CLI::App& program, CalibrateArguments& to) {
  auto* verb = program.add_subcommand("calibrate", "Fit a cluster's constants to measured runs");
  verb->add_option("--from", to.files, "CSV files of measured runs (default: the published ones)");
  verb->add_option("--cluster", to.cluster, "For rows whose site is no cluster of ours");
  auto* output = verb->add_option("-o,--output", to.output, "Write the cluster file here (.yaml)");
  verb->add_flag("--write", to.write, "Write the constants into the cluster's own file")
      ->excludes(output);
  verb->add_flag("--fresh", to.fresh, "Start from datasheets, not from what was fitted before");
  verb->add_option("--format", to.common.format, "table, md or json")
      ->check(one_of({"table", "md", "json"}))
      ->capture_default_str();
  verb->footer(R"(
Examples:
  orch calibrate --from mine.csv --cluster dgx-a100 -o clusters/mine.yaml
  orch calibrate --from mine.csv --write
  orch calibrate --format json

Two or three rows already help: a constant that the rows say nothing about stays as it is, and one
  that they say little about moves little, from datasheets or from what was fitted before. Rows that stand apart (unexplained.csv) are not used.
  The columns of the rows: orch validate --help.)");
}

int dispatch(const CLI::App& program, const Arguments& arguments) {
  const auto chosen = program.get_subcommands().front()->get_name();
  if (chosen == "run") return run_command(arguments.run);
  if (chosen == "plan") return plan_command(arguments.plan);
  if (chosen == "search") return search_command(arguments.search);
  if (chosen == "explain") return explain_command(arguments.explain);
  if (chosen == "backends") return backends_command(arguments.backends);
  if (chosen == "clusters") return clusters_command(arguments.clusters);
  if (chosen == "models") return models_command(arguments.models);
  if (chosen == "validate") return validate_command(arguments.validate);
  if (chosen == "calibrate") return calibrate_command(arguments.calibrate);
  return completion_command(program, arguments.shell);
}

int main_in(int argc, char** argv) {
  CLI::App program("orch: which parallelism strategy, on which partition, how long, does it fit",
                   "orch");
  program.set_version_flag("--version", "orch " ORCH_VERSION);
  program.require_subcommand(1);
  program.footer(kExitCodes);
  Arguments arguments;
  add_run(program, arguments.run);
  add_plan(program, arguments.plan);
  add_search(program, arguments.search);
  add_explain(program, arguments.explain);
  add_lists(program, arguments);
  add_models(program, arguments.models);
  add_validate(program, arguments.validate);
  add_calibrate(program, arguments.calibrate);
  auto* completion = program.add_subcommand("completion", "Completion for a shell");
  completion->add_option("SHELL", arguments.shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  completion->footer(
      "\nExamples:\n  orch completion bash >> ~/.bash_completion\n"
      "  orch completion fish > ~/.config/fish/completions/orch.fish");

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return usage_error(program, error, {argv + 1, argv + argc});
  }
  catch_interrupts();
  const int code = dispatch(program, arguments);
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  if (output_error == 0 || output_error == EPIPE) return code;
  return fail(file_error("stdout", "cannot write all of the output", output_error), kError);
}

}  // namespace
}  // namespace orch::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // orch ... | head is no error
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f fails like a full disk
  try {
    return orch::cli::main_in(argc, argv);
  } catch (const std::bad_alloc&) {
    return orch::cli::fail(orch::Error{"orch", "out of memory", "plan fewer runs at once"},
                           orch::cli::kError);
  } catch (const std::exception& error) {
    return orch::cli::fail(orch::Error{"orch", error.what(), "a bug: please report it"},
                           orch::cli::kError);
  }
}
