// SlurmExecutor on the cluster of SLURM_CONF; started by the script "executor".
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "core/base/text.h"
#include "core/run/launch/process_shell.h"
#include "core/run/launch/slurm/array_script.h"
#include "core/run/launch/slurm/preflight.h"
#include "core/run/launch/slurm/slurm_client.h"
#include "core/run/launch/slurm/slurm_executor.h"
#include "core/run/launch/slurm/slurm_history.h"

namespace {

using namespace orch;
using namespace orch::launch;
using SubmitReply = SubmitOutcome::Reply;
using record::Submission;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A folder for each case, an executor, and submissions that are distinguished by a number.
struct ExecutorBench {
  ExecutorBench() {
    static int count = 0;
    folder = fs::path(environment("ORCH_TEST_FOLDER")) / std::to_string(++count);
    fs::create_directories(folder);
  }

  Submission make(std::size_t runs, bool array) {
    static int count = 0;
    Submission submission;
    submission.id = std::to_string(++count) + "-" + std::to_string(::getpid());
    submission.array = array;
    submission.runs.assign(runs, "run");
    submission.time = clock.now();
    return submission;
  }

  SubmitOutcome submit(const Submission& submission, const std::string& script) {
    const auto path = folder / (submission.id + ".sbatch");
    REQUIRE(write_file_atomically(path, script));
    const auto answers = folder / submission.id;
    fs::create_directories(answers);
    return executor.submit(
        {&submission, answers, path, folder, "orch-test", "/dev/null", "", {}, 0, -1, ""});
  }

  void accept(Submission& submission, const std::string& script) {
    const auto reply = submit(submission, script);
    INFO(reply.message);
    REQUIRE(reply.reply == SubmitReply::accepted);
    submission.job = reply.job;
    CHECK(trim(*read_file(folder / submission.id / "answer")) == reply.job);
  }

  // Polls until the condition holds, for at most five minutes; a busy controller may not answer one
  // poll.
  template <class Holds>
  record::JobFacts until(const std::vector<const Submission*>& of, Holds holds) {
    const double end = clock.steady() + 300;
    auto answer = executor.poll(of);
    while (!(answer && holds(*answer)) && clock.steady() < end) {
      clock.sleep(0.2);
      answer = executor.poll(of);
    }
    REQUIRE(answer);
    return *answer;
  }

  ProcessShell shell;
  SystemClock clock;
  SlurmExecutor executor{shell, clock};
  fs::path folder;
};

// True when all of this many tasks have ended.
auto ended(std::size_t tasks) {
  return [tasks](const record::JobFacts& facts) {
    return facts.size() == tasks && std::ranges::all_of(facts, [](const auto& entry) {
             return has_ended(entry.second.state);
           });
  };
}

// A busy controller may fail to answer.
constexpr auto kRequeue = "until scontrol requeue $SLURM_JOB_ID; do sleep 1; done; sleep 300\n";

constexpr auto kHeader = "#SBATCH --time=5\n#SBATCH --gres=gpu:1\n";

}  // namespace

TEST_CASE("an array and a single job, from submission to their ends", "[slurm]") {
  ExecutorBench bench;
  CHECK(probe_slurm(bench.shell) == SlurmAnswer::reachable);
  const std::vector<std::string> names{"a", "new\nline\n#SBATCH --bogus", "dos\r\n'$(exit 9)"};
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < names.size(); ++i) {
    folders.push_back(bench.folder / names[i]);
    fs::create_directories(folders[i]);
    REQUIRE(write_file_atomically(folders[i] / "job.sbatch",
                                  "#!/bin/bash\nexit " + std::to_string(i) + "\n"));
  }
  auto array = bench.make(3, true);
  auto single = bench.make(1, false);
  bench.accept(array, array_script(kHeader, folders));
  bench.accept(single, std::string("#!/bin/bash\n") + kHeader + "sleep 1\n");

  const auto facts = bench.until({&array, &single}, ended(4));
  REQUIRE(facts.size() == 4);
  for (int i = 0; i < 3; ++i) {
    const auto& fact = facts.at({array.id, static_cast<std::size_t>(i)});
    CHECK(fact.state == (i == 0 ? "COMPLETED" : "FAILED"));
    CHECK(fact.exit_code == i);
    CHECK(fact.job == array.job + "_" + std::to_string(i));
  }
  const auto& fact = facts.at({single.id, 0});
  CHECK(fact.state == "COMPLETED");
  CHECK(fact.job == single.job);
  CHECK(std::abs(fact.end - bench.clock.now()) < 120);
  CHECK(fact.end - fact.start >= 1);
  CHECK(fact.elapsed_seconds >= 1);
  CHECK(fact.gpu_hours >= 1. / 3600);

  CHECK(*bench.executor.find(array) == array.job);
  CHECK(*bench.executor.find(single) == single.job);
}

TEST_CASE("an id that is not ours, or not known, tells nothing", "[slurm]") {
  ExecutorBench bench;
  auto ours = bench.make(1, false);
  bench.accept(ours, std::string("#!/bin/bash\n") + kHeader + "sleep 1\n");
  auto reused = bench.make(1, false);
  reused.job = ours.job;
  auto purged = bench.make(1, false);
  purged.job = "7654321";
  CHECK(bench.until({&reused, &purged}, ended(0)).empty());
  CHECK(*bench.executor.find(purged) == std::nullopt);
}

TEST_CASE("what the controller has forgotten, accounting still tells", "[slurm]") {
  ExecutorBench bench;
  if (!bench.executor.client().accounting({"1"})) SKIP("no accounting on this cluster");
  auto array = bench.make(2, true);
  bench.accept(array, std::string("#!/bin/bash\n") + kHeader +
                          "if [ -n \"${SLURM_RESTART_COUNT:-}\" ]; then exit 3; fi\n"
                          "sleep 2\n" +
                          kRequeue);
  const auto is_forgotten = [&] {
    const auto rows = bench.executor.client().queue(record::comment_of(array.id));
    return rows && rows->empty();
  };
  const double end = bench.clock.steady() + 300;
  while (!is_forgotten() && bench.clock.steady() < end) bench.clock.sleep(0.2);
  REQUIRE(is_forgotten());

  const auto facts = bench.until({&array}, [](const auto& all) { return all.size() == 2; });
  REQUIRE(facts.size() == 2);
  for (const auto& [task, fact] : facts) {
    CHECK(fact.state == "FAILED");
    CHECK(fact.exit_code == 3);
    CHECK(fact.end > 0);
    CHECK(fact.gpu_hours >= 2. / 3600);  // mostly from the first start
    CHECK(fact.gpu_hours > fact.elapsed_seconds / 3600);
  }
  CHECK(*bench.executor.find(array) == array.job);

  // As orch calibrate --failures reads it: both starts of both tasks.
  const auto text = bench.executor.client().history_since(array.time - 60);
  REQUIRE(text);
  const auto history = parse_job_history(*text, "sacct");
  if (!history) FAIL(orch::text(history.error()));
  std::size_t starts = 0;
  for (const auto& job : history->jobs) {
    if (!job.job.starts_with(array.job + "_")) continue;
    ++starts;
    CHECK(job.ended);
    CHECK(job.gpus == 1);
    CHECK(job.waiting > 0);
    CHECK(job.start >= job.waiting);
    CHECK_FALSE(job.raw.empty());
  }
  CHECK(starts == 4);
}

TEST_CASE("waiting tasks are told one by one, and cancelled", "[slurm]") {
  ExecutorBench bench;
  auto array = bench.make(20, true);
  bench.accept(array, std::string("#!/bin/bash\n#SBATCH --hold\n") + kHeader + "sleep 100\n");
  auto facts = bench.until({&array}, [](const auto& all) { return all.size() == 20; });
  REQUIRE(facts.size() == 20);
  CHECK(facts.at({array.id, 19}).state == "PENDING");
  CHECK(facts.at({array.id, 19}).reason == "JobHeldUser");
  CHECK(facts.at({array.id, 19}).job == array.job + "_19");
  std::vector<record::JobFact> tasks;
  for (const auto& [task, fact] : facts) tasks.push_back(fact);
  REQUIRE(bench.executor.cancel(tasks));
  CHECK(ended(20)(bench.until({&array}, ended(20))));
  CHECK(bench.executor.cancel(tasks));  // again
}

TEST_CASE("what it refuses it refuses at once, and dry", "[slurm]") {
  ExecutorBench bench;
  const auto submission = bench.make(1, false);
  const auto reply = bench.submit(submission, "#!/bin/bash\n#SBATCH --partition=nowhere\nexit 0\n");
  CHECK(reply.reply == SubmitReply::refused);
  CHECK(reply.message.find("Invalid partition name") != std::string::npos);
  const auto path = bench.folder / "test.sbatch";
  const SubmitRequest request{&submission, bench.folder, path, bench.folder, "n", "/dev/null",
                              "",          {},           0,    -1,           "",  0};
  REQUIRE(write_file_atomically(path, "#!/bin/bash\n#SBATCH --nodes=99\nexit 0\n"));
  CHECK_FALSE(bench.executor.test(request));
  REQUIRE(write_file_atomically(path, "#!/bin/bash\nexit 0\n"));
  CHECK(bench.executor.test(request));
  CHECK(bench.until({&submission}, ended(0)).empty());
}

TEST_CASE("a job gets our environment, but not our session's SLURM; a requeue keeps it",
          "[slurm]") {
  ::setenv("SBATCH_PARTITION", "nowhere", 1);
  ::setenv("SLURM_CPU_BIND", "quiet,mask_cpu:0x1", 1);
  ::setenv("ORCH_TEST_VALUE", "a b,c=d", 1);
  ::unsetenv("LC_ALL");
  ExecutorBench bench;
  auto single = bench.make(1, false);
  bench.accept(single, std::string("#!/bin/bash\n") + kHeader +
                           "echo \"$ORCH_SUBMISSION|$ORCH_TEST_VALUE|${LC_ALL-}|"
                           "${SLURM_TIME_FORMAT-}|${SLURM_CPU_BIND-}\" >> said\n"
                           "if [ -n \"${SLURM_RESTART_COUNT:-}\" ]; then exit 0; fi\n" +
                           kRequeue);
  const auto facts = bench.until({&single}, [](const auto& all) {
    return !all.empty() && all.begin()->second.state == "COMPLETED";
  });
  const auto line = single.id + "|a b,c=d|||\n";
  CHECK(*read_file(bench.folder / "said") == line + line);
  ::unsetenv("SBATCH_PARTITION");
  ::unsetenv("SLURM_CPU_BIND");
}

TEST_CASE("a controller that froze takes the job after sbatch gave up", "[slurm]") {
  ExecutorBench bench;
  const auto controller = std::stoi(environment("ORCH_TEST_CONTROLLER"));
  auto single = bench.make(1, false);
  ::kill(controller, SIGSTOP);
  const auto reply = bench.submit(single, std::string("#!/bin/bash\n") + kHeader + "exit 0\n");
  ::kill(controller, SIGCONT);
  INFO(reply.message);
  CHECK(reply.reply == SubmitReply::unclear);
  // Waking up on a busy host takes time.
  const auto job = SlurmExecutor(bench.shell, bench.clock, {.settle_seconds = 60}).find(single);
  REQUIRE(job);
  REQUIRE(job->has_value());
  single.job = **job;  // it may have ended, and the controller forgotten it: accounting searches by
                       // id
  const auto facts = bench.until({&single}, ended(1));
  REQUIRE(facts.contains({single.id, 0}));
  CHECK(facts.at({single.id, 0}).job == **job);
}

TEST_CASE("a controller that is not there has taken nothing", "[slurm]") {
  ExecutorBench bench;
  const auto conf = environment("SLURM_CONF");
  ::setenv("SLURM_CONF", environment("ORCH_TEST_NO_CONTROLLER").c_str(), 1);
  const auto single = bench.make(1, false);
  const auto reply = bench.submit(single, "#!/bin/bash\nexit 0\n");
  CHECK(reply.reply == SubmitReply::unreachable);
  CHECK_FALSE(bench.executor.poll({&single}));
  CHECK(probe_slurm(bench.shell) == SlurmAnswer::unreachable);
  ::setenv("SLURM_CONF", conf.c_str(), 1);
}

TEST_CASE("preflight holds asks against the cluster itself", "[slurm]") {
  ExecutorBench bench;
  const auto facts = bench.executor.client().facts();
  REQUIRE(facts);
  CHECK(facts->name == "orch");
  CHECK(facts->max_array_size == 1001);
  const JobRequest fits{"c", "gpu_p5", "100:00:00", 3, "gpu:8", "a100&nvme", "", ""};
  CHECK(preflight(*facts, {fits}));
  auto wrong = fits;
  wrong.time = "101:00:00";
  wrong.nodes = 4;
  wrong.gres = "gpu:v100:8";
  wrong.constraint = "a10";
  CHECK(preflight(*facts, {wrong}).error().size() == 4);
}
