#include "core/app/framework_check.h"

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/plan/slurm.h"
#include "core/run/launch/process_shell.h"

namespace orch::app {
namespace {

constexpr double kSeconds = 120;  // an import from a network's file system may take that long
constexpr int kUnset = 78;        // a variable that the run needs is not set: said where it runs
constexpr const char* kSetup = "templates/frameworks/setup";

std::string last_line(const std::string& text) {
  std::string last;
  for (const auto& line : split(text, '\n'))
    if (!trim(line).empty()) last = trim(line);
  return printable(last).substr(0, 200);
}

// What a rank does before it starts the program.
std::string script_of(const plan::Run& run) {
  auto script = run.job.setup + "\n";
  for (const auto& [variable, name] : plan::needed_variables(run.job))
    script += fmt::format("[ -v {} ] || exit {}\n", variable, kUnset);
  for (const auto& [name, value] : run.job.environment)
    script += fmt::format(
        "export {}={}\n", name,
        run.job.expanded.contains(name) ? plan::expansion(name, value) : shell_quote(value));
  return script;
}

// "0.19" is the version of 0.19.8; main and the like are of none.
bool is_version_of(const std::string& asked, const std::string& says) {
  const bool is_number = !asked.empty() && asked.front() >= '0' && asked.front() <= '9';
  return !is_number || says.empty() || says == asked || says.starts_with(asked + ".") ||
         says.starts_with(asked + "+");
}

}  // namespace

std::string FrameworkCheck::ask(const plan::Run& run, const fs::path& folder) {
  if (run.framework.empty() || !is_there(folder / "start")) return {};
  const auto script = script_of(run);
  const auto [found, is_new] = answers_.try_emplace(run.framework + "\n" + script);
  if (is_new) found->second = answer(run, folder, script);
  return found->second;
}

std::string FrameworkCheck::answer(const plan::Run& run, const fs::path& folder,
                                   const std::string& script) {
  const auto text = read_file(folder / "start");
  if (!text || text->find("= check ]") == std::string::npos) return {};  // it has no version
  launch::ProcessShell shell;
  const auto path = fs::absolute(folder).string();
  const auto line = fmt::format(
      "{}export ORCH_RUN_FOLDER={} ORCH_ATTEMPT_FOLDER=/nonexistent RANK=0 LOCAL_RANK=0 "
      "WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=1\nexec bash {}/start check",
      script, shell_quote(path), shell_quote(path));
  Command command;
  command.argv = {"bash", "-c", line};
  command.timeout_seconds = kSeconds;
  const auto output = shell.run(command);
  if (!output || output->timed_out || output->code == kUnset) return {};
  const auto [name, asked] = plan::framework_name(run.framework);
  const bool is_ours = is_there(home_ / "templates/frameworks" / (name + ".lua"));
  const auto next =
      is_ours ? fmt::format("next: {} {}, and the line that it prints into the strategy\n", kSetup,
                            name)
              : "next: install it, or name its folder in setup or environment of the strategy\n";
  if (output->code != 0)
    return fmt::format("{} does not start: {}\n{}", run.framework, last_line(output->err), next);
  const auto says = last_line(output->out);
  if (is_version_of(asked, says)) return {};
  return fmt::format("{} is asked for, and {} is installed, whose flags may differ\n{}",
                     run.framework, says, next);
}

}  // namespace orch::app
