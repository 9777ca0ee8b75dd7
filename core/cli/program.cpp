#include "core/cli/program.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/base/terminal.h"
#include "core/cli/app.h"
#include "core/cli/exit.h"
#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

int output_error = 0;  // the first errno of a write to stdout

}  // namespace

int fail(const Errors& errors, int code) {
  constexpr std::size_t kMost = 50;  // who makes more of them at once needs no more to find out why
  const tables::Screen screen{0, wants_color(2)};
  for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i)
    note(tables::paint("error:", "31", screen) + " " + printable_lines(errors[i].text()) + "\n");
  if (errors.size() > kMost) std::fprintf(stderr, "… and %zu more errors\n", errors.size() - kMost);
  return code;
}

// At once: where both are one file, what stderr says next must not come above it.
void print(const std::string& text) {
  const auto shown = printable_lines(text, wants_color(1));
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if ((!written || std::fflush(stdout) != 0) && output_error == 0) output_error = errno;
}

void note(const std::string& text) {
  const auto shown = printable_lines(text, wants_color(2));
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

namespace {

constexpr const char* kExitCodes = R"(
Exit codes: 0 ok, 1 error, 2 usage, 3 invalid experiment, 4 some runs failed or fell short,
  5 scheduler unreachable, 6 over budget, 7 estimates further off than --tolerance, 130 interrupted.
Environment: NO_COLOR, COLUMNS; ORCH_HOME (experiments/ and templates/), ORCH_PLUGINS (folders),
  ORCH_TRAINER (for experiments that name no trainer: the program of each rank; part of a run),
  ORCH_BUILD_TRAINERS (the script that builds the backends' own before a local run; ./orch sets it),
  ORCH_MEASURE (the program that measures this machine, instead of orch-measure; empty: none).)";

int dispatch(const CLI::App& program, const Arguments& arguments) {
  const auto chosen = program.get_subcommands().front()->get_name();
  if (chosen == "run") return run_command(arguments.run);
  if (chosen == "status") return status_command(arguments.status);
  if (chosen == "watch") return watch_command(arguments.watch);
  if (chosen == "logs") return logs_command(arguments.logs);
  if (chosen == "cancel") return cancel_command(arguments.cancel);
  if (chosen == "resume") return resume_command(arguments.resume);
  if (chosen == "retry") return retry_command(arguments.retry);
  if (chosen == "inspect") return inspect_command(arguments.inspect);
  if (chosen == "doctor") return doctor_command(arguments.doctor);
  if (chosen == "index") return index_command(arguments.index);
  if (chosen == "_words") return words_command(arguments.words);
  if (chosen == "_local") return supervise_command(arguments.submission);
  if (chosen == "plan") return plan_command(arguments.plan);
  if (chosen == "search") return search_command(arguments.search);
  if (chosen == "explain") return explain_command(arguments.explain);
  if (chosen == "probe") return probe_command(arguments.probe);
  if (chosen == "backends") return backends_command(arguments.backends);
  if (chosen == "clusters") return clusters_command(arguments.clusters);
  if (chosen == "models") return models_command(arguments.models);
  if (chosen == "validate") return validate_command(arguments.validate);
  if (chosen == "calibrate") return calibrate_command(arguments.calibrate);
  if (chosen == "data")
    return program.get_subcommand("data")->got_subcommand("build")
               ? data_build_command(arguments.data_build)
               : data_show_command(arguments.data_show);
  if (chosen == "ingest") return ingest_command(arguments.ingest);
  if (chosen == "compare") return compare_command(arguments.compare);
  if (chosen == "check") return check_command(arguments.check);
  if (chosen == "report") return report_command(arguments.report);
  if (chosen == "export") return export_command(arguments.exports);
  if (chosen == "import") return import_command(arguments.imports);
  return completion_command(program, arguments.shell);
}

int help_command(const CLI::App& program, const std::string& verb, bool man) {
  if (man) return print(man_page(program)), kOk;
  if (verb.empty())
    return print(program.get_formatter()->make_help(&program, "orch", CLI::AppFormatMode::Normal)),
           kOk;
  for (const auto* found : verbs_for_people(program))
    if (found->get_name() == verb) return print(found->help("orch")), kOk;
  return usage_error(program, CLI::ParseError("", kUsage), {verb});
}

// Where a bundle's loader started us (cmake/bundled-orch): lists of processes have our name, and
// programs that we start get back what the site preloads.
void leave_loader() {
  ::prctl(PR_SET_NAME, "orch");
  constexpr const char* kKept = "ORCH_LD_PRELOAD";
  if (const char* preload = std::getenv(kKept)) ::setenv("LD_PRELOAD", preload, 1);
  ::unsetenv(kKept);
}

}  // namespace

int program(int argc, char** argv) {
  leave_loader();
  CLI::App program("orch: which parallelism strategy, on which partition, how long, does it fit",
                   "orch");
  program.set_version_flag("-V,--version", "orch " ORCH_VERSION);
  program.require_subcommand(1);
  program.footer(kExitCodes);
  Arguments arguments;
  add_run(program, arguments.run);
  add_following_verbs(program, arguments);
  add_planning_verbs(program, arguments);
  add_record_verbs(program, arguments);
  add_knowledge_verbs(program, arguments);
  add_data_verbs(program, arguments);
  add_weights_verbs(program, arguments);
  auto* completion = program.add_subcommand("completion", "Completion for a shell");
  completion->add_option("SHELL", arguments.shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  completion->footer(
      "\nExamples:\n  orch completion bash >> ~/.bash_completion\n"
      "  orch completion fish > ~/.config/fish/completions/orch.fish");

  std::string asked;
  bool man = false;
  auto* help = program.add_subcommand("help", "Help for a verb, as VERB --help");
  help->add_option("VERB", asked, "One of the verbs");
  help->add_flag("--man", man, "All of it, as the source of a manual page");
  help->footer("\nExamples:\n  orch help run\n  orch help --man | man -l -");
  program.add_subcommand("version", "The version, as --version");

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return usage_error(program, error, {argv + 1, argv + argc});
  }
  if (program.got_subcommand("version")) return print("orch " ORCH_VERSION "\n"), kOk;
  if (*help) return help_command(program, asked, man);
  catch_interrupts();
  const int code = dispatch(program, arguments);
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
  if (output_error == 0 || output_error == EPIPE) return code;
  return fail(file_error("stdout", "cannot write all of the output", output_error), kError);
}

}  // namespace orch::cli
