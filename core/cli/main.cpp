#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

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
  const report::Screen screen{0, wants_color(2)};
  for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i)
    std::fprintf(stderr, "%s %s\n", report::paint("error:", "31", screen).c_str(),
                 errors[i].text().c_str());
  if (errors.size() > kMost)
    std::fprintf(stderr, "… and %zu more errors\n", errors.size() - kMost);
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
  if (chosen == "report") return report_command(arguments.report);
  if (chosen == "export") return export_command(arguments.exports);
  if (chosen == "import") return import_command(arguments.imports);
  return completion_command(program, arguments.shell);
}

int help_command(const CLI::App& program, const std::string& verb) {
  if (verb.empty())
    return print(program.get_formatter()->make_help(&program, "orch", CLI::AppFormatMode::Normal)), kOk;
  for (const auto* found : verbs_for_people(program))
    if (found->get_name() == verb) return print(found->help("orch")), kOk;
  return usage_error(program, CLI::ParseError("", kUsage), {verb});
}

int main_in(int argc, char** argv) {
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
  auto* help = program.add_subcommand("help", "Help for a verb, as VERB --help");
  help->add_option("VERB", asked, "One of the verbs");
  program.add_subcommand("version", "The version, as --version");

  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return usage_error(program, error, {argv + 1, argv + argc});
  }
  if (program.got_subcommand("version")) return print("orch " ORCH_VERSION "\n"), kOk;
  if (*help) return help_command(program, asked);
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
