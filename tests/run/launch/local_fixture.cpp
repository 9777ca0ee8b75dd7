#include "tests/run/launch/local_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "core/base/text.h"
#include "core/run/launch/local/local_tasks.h"
#include "tests/test.h"

namespace orch::test {
namespace {

launch::LocalOptions options_for(const fs::path& root, const fs::path& folder) {
  fs::create_directories(folder / "submissions");
  const auto trainers = root / "trainers";
  fs::create_directories(trainers);
  fs::create_symlink(fs::path(ORCH_SOURCE_DIR) / "tests/run/launch/trainer",
                     trainers / "orch-train-ddp");
  ::setenv("TEST_TRAINERS", trainers.c_str(), 1);
  ::setenv("TEST_LOCK", (root / "lock").c_str(), 1);
  for (const auto* name : {"TEST_MEMORY", "TEST_KILL", "TEST_WAIT"}) ::unsetenv(name);
  launch::LocalOptions options;
  options.experiment_folder = folder;
  options.supervisor = {ORCH_TEST_SUPERVISOR};
  options.trainers = trainers;
  return options;
}

}  // namespace

LocalExperiment::LocalExperiment(const std::string& name)
    : folder_(place_.root() / name), executor_(options_for(place_.root(), folder_), clock_) {}

LocalExperiment::~LocalExperiment() {
  for (const auto& [submission, pid] : submissions_) {
    const auto id = launch::parse_supervisor_id(submission.job);
    if (!id || !launch::is_alive(*id)) continue;
    ::kill(id->pid, SIGTERM);
    eventually([&id = *id] { return !launch::is_alive(id); });
  }
}

fs::path LocalExperiment::add_run(const std::string& id, const std::string& behaviour,
                                  const Job& job) {
  const auto run = folder_ / id;
  fs::create_directories(run);
  std::ofstream(run / "behaviour") << behaviour << "\n";
  std::ofstream(run / "run.json")
      << R"({"version": 1, "trainer": ")" << job.trainer.string()
      << R"(", "strategy": "ddp", "backend": "ddp", "model": {"family": "gpt", )"
      << R"("layers": 1, "hidden": 8, "heads": 1, "vocab": 8, "seq": 1024}, "gpus": )" << job.ranks
      << R"(, "data_parallel": )" << job.ranks << R"(, "micro_batch": 1, "accumulate": )"
      << 64 / job.ranks << R"(, "global_batch": )" << 64 / job.ranks * job.ranks
      << R"(, "rampup": )" << job.rampup << R"(, "tokens": 1048576, "steps": 0, "job": {"time": ")"
      << job.time << R"(", "signal_seconds": )" << job.signal_seconds << R"(, "environment": )"
      << job.environment << R"(, "setup": ")" << job.setup << "\"}}\n";
  return run;
}

fs::path LocalExperiment::add_run(const std::string& id, const std::string& behaviour, int ranks) {
  Job job;
  job.ranks = ranks;
  return add_run(id, behaviour, job);
}

launch::SubmitOutcome LocalExperiment::submit(const std::string& id,
                                              const std::vector<std::string>& runs, int lock) {
  record::Submission submission;
  submission.id = id;
  submission.executor = "local";
  submission.runs = runs;
  submission.array = runs.size() > 1;
  launch::SubmitRequest request;
  request.submission = &submission;
  request.folder = this->submission(id);
  request.lock = lock;
  fs::create_directories(request.folder);
  std::ofstream(request.folder / "runs") << join(runs, "\n") << "\n";
  const auto submitted = executor_.submit(request);
  submission.job = submitted.job;
  submissions_.emplace_back(submission, 0);
  return submitted;
}

record::JobFact LocalExperiment::poll(const std::string& id, std::size_t index) {
  for (const auto& [submission, pid] : submissions_) {
    if (submission.id != id) continue;
    auto facts = executor_.poll({&submission});
    REQUIRE(facts);
    return (*facts)[{id, index}];
  }
  return {};
}

record::JobFact LocalExperiment::wait(const std::string& id, std::size_t index) {
  record::JobFact fact;
  const bool ended = eventually([&] {
    fact = poll(id, index);
    return fact.state != "PENDING" && fact.state != "RUNNING";
  });
  INFO("still " << fact.state << " " << fact.reason);
  REQUIRE(ended);
  return fact;
}

record::JobFact LocalExperiment::wait_for(const std::string& id, std::size_t index,
                                          const std::string& state) {
  record::JobFact fact;
  const bool there = eventually([&] {
    fact = poll(id, index);
    return fact.state == state;
  });
  INFO("still " << fact.state << " " << fact.reason);
  REQUIRE(there);
  return fact;
}

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines(const fs::path& file) {
  std::vector<std::string> all;
  std::ifstream in(file, std::ios::binary);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

Result<Output> PlainShell::run(const Command& command) {
  std::string line;
  for (const auto& word : command.argv) line += shell_quote(word) + " ";
  const auto errors = fs::temp_directory_path() / ("orch-shell-" + std::to_string(::getpid()));
  FILE* pipe = ::popen((line + "2>" + shell_quote(errors.string())).c_str(), "r");
  if (!pipe) return Error{command.argv.front(), "cannot be started", ""};
  Output output;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.out.append(buffer, got);
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.err = slurp(errors);
  fs::remove(errors);
  if (output.code == 127) return Error{command.argv.front(), "cannot be started", ""};
  return output;
}

}  // namespace orch::test
