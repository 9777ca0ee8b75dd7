#include "core/cli/program.h"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "core/app/app.h"
#include "core/cli/terminal.h"
#include "core/cli/usage.h"
#include "core/cli/verbs.h"

namespace orch::cli {
namespace {

constexpr const char* kExitCodes = R"(
Exit codes: 0 ok, 1 error, 2 usage, 3 invalid experiment, 4 some runs failed or fell short,
  5 scheduler unreachable, 6 over budget, 7 estimates further off than --tolerance, 130 interrupted.
Environment: NO_COLOR, COLUMNS; ORCH_HOME (experiments/ and templates/), ORCH_PLUGINS (folders),
  ORCH_TRAINER (for experiments that name no trainer: the program of each rank; part of a run),
  ORCH_BUILD_TRAINERS (the script that builds the backends' own before a local run; ./orch sets it),
  ORCH_MEASURE (the program that measures this machine, instead of orch-measure; empty: none).)";

// The exit codes listed in README and --help.
int exit_code(app::Exit exit) {
  return exit == app::Exit::interrupted ? 130 : static_cast<int>(exit);
}

// Undoes the changes of a bundle's loader (cmake/bundled-orch): our name in lists of processes, and
// the variables of programs that we start.
void leave_loader() {
  ::prctl(PR_SET_NAME, "orch");
  constexpr const char* kKept = "ORCH_LD_PRELOAD";
  if (const char* preload = std::getenv(kKept)) ::setenv("LD_PRELOAD", preload, 1);
  ::unsetenv(kKept);
}

CLI::App* declare(const Verb& verb, CLI::App& program) {
  const auto space = verb.name.find(' ');
  auto& parent =
      space == std::string::npos ? program : *program.get_subcommand(verb.name.substr(0, space));
  auto* app = parent.add_subcommand(verb.name.substr(space + 1), verb.help);
  app->footer(verb.examples);
  app->group(&parent == &program ? verb.group : "Subcommands");
  verb.declare(*app);
  return app;
}

int finish(const app::Ending& ending, Terminal& terminal) {
  terminal.complain(ending.errors);
  const auto written = terminal.flush();
  terminal.complain(written.error());
  return exit_code(written ? ending.exit : app::Exit::error);
}

}  // namespace

int program(int argc, char** argv) {
  leave_loader();
  CLI::App program("orch: which parallelism strategy, on which partition, how long, does it fit",
                   "orch");
  program.set_version_flag("-V,--version", "orch " ORCH_VERSION);
  program.require_subcommand(1);
  program.footer(kExitCodes);
  const auto all = verbs();
  std::vector<CLI::App*> declared;
  for (const auto& verb : all) declared.push_back(declare(verb, program));
  Terminal terminal;
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);
    return finish({usage_errors(program, error, {argv + 1, argv + argc}), app::Exit::usage},
                  terminal);
  }
  app::catch_interrupts();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (declared[i]->parsed() && all[i].run) return finish(all[i].run(program, terminal), terminal);
  return exit_code(app::Exit::usage);  // require_subcommand() has a better message
}

}  // namespace orch::cli
