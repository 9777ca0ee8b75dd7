#include "core/cli/trainers.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/text.h"
#include "core/cli/app.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/plan/run_json.h"

namespace orch::cli {
namespace {

constexpr const char* kVariable = "ORCH_BUILD_TRAINERS";
constexpr int kNoSuchTrainer = 3;  // see cmake/trainers

std::string script() {
  const char* value = std::getenv(kVariable);
  return value ? value : "";
}

// Runs it with our terminal, all it says on stderr. The exit code, or 128 and more for a signal.
Result<int> call(const std::string& program, const std::string& argument) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string words[] = {program, argument};
  char* argv[] = {words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return Error{printable(program), std::strerror(error),
                 fmt::format("{} must name a program; unset it to do without", kVariable)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int build_trainer(const std::string& backend) {
  const auto code = call(script(), backend);
  if (interrupted()) return kInterrupted;
  if (!code) return fail(code.error(), kError);
  if (*code == 0) return kOk;
  if (*code == kNoSuchTrainer)
    return fail(
        Error{"orch-train-" + backend,
              "there is no such trainer yet: this backend only "
              "checks and estimates",
              fmt::format("leave its runs out, as with --where 'backend ~= \"{}\"', or name "
                          "a program in ORCH_TRAINER",
                          backend)},
        kError);
  return fail(Error{"orch-train-" + backend, "could not be built",
                    "what went wrong stands above; nothing was started"},
              kError);
}

}  // namespace

bool can_build_trainers() { return !script().empty(); }

int build_trainers(const std::set<std::string>& backends) {
  if (!can_build_trainers()) return kOk;
  for (const auto& backend : backends)
    if (const int code = build_trainer(backend); code != kOk) return code;
  return kOk;
}

Status build_measure() {
  if (!can_build_trainers()) return {};
  const auto code = call(script(), "measure");
  if (!code) return code.error();
  if (*code == 0) return {};
  return Error{"orch-measure", "could not be built", "what went wrong stands above"};
}

std::set<std::string> local_backends(const follow::Campaign& campaign,
                                     const std::vector<std::size_t>& runs) {
  std::set<std::string> backends;
  for (const auto place : runs) {
    const auto& facts = campaign.runs()[place].facts;
    if (facts.phases > 0) continue;  // it has a job script: SLURM's
    const auto run = plan::read_run(campaign.folder() / facts.id / "run.json");
    if (run && run->trainer.empty() && run->framework.empty()) backends.insert(run->strategy->backend);
  }
  return backends;
}

}  // namespace orch::cli
