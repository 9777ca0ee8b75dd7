#include "core/app/trainers.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/app/app.h"
#include "core/base/text.h"
#include "core/plan/run_json.h"

namespace orch::app {
namespace {

constexpr const char* kVariable = "ORCH_BUILD_TRAINERS";
constexpr int kNoSuchTrainer = 3;  // see cmake/trainers

std::string script() {
  const char* value = std::getenv(kVariable);
  return value ? value : "";
}

// Runs a program with our terminal and all its output on stderr. Returns the exit code, or 128 +
// the signal.
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
                 fmt::format("{} must name a program, or be unset", kVariable)};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Ending build_trainer(const std::string& backend) {
  const auto code = call(script(), backend);
  if (interrupted()) return Exit::interrupted;
  if (!code) return code.error();
  if (*code == 0) return Exit::ok;
  if (*code == kNoSuchTrainer)
    return Error{"orch-train-" + backend,
                 "this backend has no trainer: it only checks and estimates",
                 fmt::format("leave its runs out, as with --where 'backend ~= \"{}\"', or name "
                             "a program in ORCH_TRAINER",
                             backend)};
  return Error{"orch-train-" + backend, "could not be built",
               "see the error above; nothing was started"};
}

}  // namespace

bool can_build_trainers() { return !script().empty(); }

Ending build_trainers(const std::set<std::string>& backends) {
  if (!can_build_trainers()) return Exit::ok;
  for (const auto& backend : backends)
    if (auto ended = build_trainer(backend); !ended.ok()) return ended;
  return Exit::ok;
}

Status build_measure() {
  if (!can_build_trainers()) return {};
  const auto code = call(script(), "measure");
  if (!code) return code.error();
  if (*code == 0) return {};
  return Error{"orch-measure", "could not be built", "see the error above"};
}

std::set<std::string> local_backends(const follow::Campaign& campaign,
                                     const std::vector<std::size_t>& runs) {
  std::set<std::string> backends;
  for (const auto place : runs) {
    const auto& view = campaign.runs()[place];
    if (view.phases > 0) continue;  // it has a job script, so SLURM runs it
    const auto run = plan::read_run(campaign.folder() / view.record.id / "run.json");
    if (run && run->trainer.empty() && run->framework.empty())
      backends.insert(run->strategy->backend);
  }
  return backends;
}

}  // namespace orch::app
