#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/base/text.h"
#include "core/cli/app.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"

namespace orch::cli {

int fail(const Errors& errors, int code) {
  const report::Screen screen{0, isatty(2) == 1 && !std::getenv("NO_COLOR")};
  for (const auto& error : errors)
    std::fprintf(stderr, "%s %s\n", report::paint("error:", "31", screen).c_str(),
                 error.text().c_str());
  return code;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

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
  const char* plain = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  screen.color = isatty(1) && !(plain && *plain) && !(term && std::string_view(term) == "dumb");
  return screen;
}

// Everything that the command line can say.
struct Arguments {
  PlanArguments plan, run;
  ExplainArguments explain;
  ListArguments backends, clusters;
  ModelArguments models;
  std::string shell;
};

void add_format(CLI::App* verb, Common& common, std::vector<std::string> formats) {
  common.screen = screen();
  verb->add_option("--format", common.format, "How to print")
      ->check(CLI::IsMember(std::move(formats)))
      ->capture_default_str();
}

void add_planning(CLI::App* verb, PlanArguments& to) {
  verb->add_option("FILE", to.file, "Experiment in Lua")->required();
  add_format(verb, to.common, {"table", "md", "csv", "json"});
  verb->add_option("--where", to.where, "Keep runs for which this Lua expression is true");
  verb->add_option("--top", to.top, "Rows of the table; 0 shows all")->capture_default_str();
  verb->add_option("--max-runs", to.max_runs, "Refuse to expand more runs than this")
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

void add_explain(CLI::App& program, ExplainArguments& to) {
  auto* verb =
      program.add_subcommand("explain", "Memory and time of one run, item by item, with formulas");
  verb->add_option("RUN", to.run,
                   "Run id, its beginning or hash, a run folder, or FILE.lua (its best)")
      ->required();
  add_format(verb, to.common, {"table", "json"});
  verb->add_option("--where", to.where,
                   "With FILE.lua: the best of the runs for which this is true");
  verb->add_option("--runs", to.runs, "Folder of the run folders")->capture_default_str();
  verb->footer(R"(
Examples:
  orch explain experiments/200b.lua
  orch explain experiments/200b.lua --where 'pipeline_parallel == 12'
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
      ->check(CLI::PositiveNumber);
  verb->add_option("--pipeline-parallel", to.pipeline_parallel, "Spread the layers")
      ->check(CLI::PositiveNumber);
  verb->add_option("--bytes-per-param", to.bytes_per_param, "Weights, gradients, optimizer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--params", to.params, "A size instead of a model")->check(CLI::PositiveNumber);
  verb->add_option("--tokens", to.tokens, "How long at a given rate: tokens")
      ->check(CLI::PositiveNumber);
  verb->add_option("--tflops", to.tflops, "the rate per GPU")->check(CLI::PositiveNumber);
  verb->add_option("--gpus", to.gpus, "and the GPUs")->check(CLI::PositiveNumber);
  verb->footer(R"(
Examples:
  orch models
  orch models gpt-104b --tensor-parallel 4 --pipeline-parallel 32
  orch models --params 200e9 --tokens 300e9 --tflops 150 --gpus 350)");
}

int dispatch(const CLI::App& program, const Arguments& arguments) {
  const auto chosen = program.get_subcommands().front()->get_name();
  if (chosen == "run") return run_command(arguments.run);
  if (chosen == "plan") return plan_command(arguments.plan);
  if (chosen == "explain") return explain_command(arguments.explain);
  if (chosen == "backends") return backends_command(arguments.backends);
  if (chosen == "clusters") return clusters_command(arguments.clusters);
  if (chosen == "models") return models_command(arguments.models);
  return completion_command(program, arguments.shell);
}

std::vector<std::string> verbs(const CLI::App& program) {
  std::vector<std::string> names;
  for (const auto* verb : program.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

// CLI11 only says that a word was not expected.
int unknown_verb(const std::string& word, const std::vector<std::string>& names) {
  return fail(Error{"orch " + printable(word), "no such verb", suggestion(word, names)}, kUsage);
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
  add_explain(program, arguments.explain);
  add_lists(program, arguments);
  add_models(program, arguments.models);
  auto* completion = program.add_subcommand("completion", "Completion for a shell");
  completion->add_option("SHELL", arguments.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));

  if (const auto names = verbs(program);
      argc > 1 && argv[1][0] != '-' &&
      std::find(names.begin(), names.end(), argv[1]) == names.end())
    return unknown_verb(argv[1], names);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kOk : kUsage;
  }
  catch_interrupts();
  const int code = dispatch(program, arguments);
  if (std::fflush(stdout) != 0 && errno != EPIPE)
    return fail(Error{"stdout", "cannot write all of the output", "is the disk full?"}, kError);
  return code;
}

}  // namespace
}  // namespace orch::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  return orch::cli::main_in(argc, argv);
}
