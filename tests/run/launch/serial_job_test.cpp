#include "core/run/launch/slurm/serial_job.h"

#include "core/base/sha256.h"
#include "core/run/launch/process_shell.h"
#include "core/run/launch/task_files.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::launch {
namespace {

// A serial submission whose runs execute small scripts.
struct SerialJob : TestFolder {
  explicit SerialJob(const std::vector<std::string>& scripts, std::int64_t seconds = 60) {
    submission.id = "0001";
    submission.serial = true;
    submission.job = "7";
    std::string sums;
    std::vector<SerialRun> runs;
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      submission.runs.push_back("it's run " + std::to_string(i));
      const auto script = "#!/bin/bash\n" + scripts[i] + "\n";
      runs.push_back(
          {file(fs::path(submission.runs[i]) / "job.sbatch", script).parent_path(), seconds});
      sums += (i > 0 ? ", \"" : "\"") + sha256(script) + "\"";
    }
    file("submissions/0001/submission.json", "{\"script_sums\": [" + sums + "]}");
    file("submissions/0001/serial.sbatch", serial_script("#SBATCH --nodes=1\n", runs));
  }

  fs::path folder() const { return root() / "submissions/0001"; }

  Output execute(const std::string& before = "") const {
    ProcessShell shell;
    Command command;
    command.argv = {"bash", "-c",
                    before +
                        " ORCH_SUBMISSION=0001 ORCH_POLL_SECONDS=0.1 SLURM_JOB_ID=7 exec bash " +
                        (folder() / "serial.sbatch").string()};
    command.timeout_seconds = 60;
    const auto output = shell.run(command);
    REQUIRE(output);
    return *output;
  }

  std::string state(std::size_t index) const {
    const auto task = read_task(folder(), index);
    REQUIRE(task);
    if (!*task) return "";
    return fmt::format("{} {}{}", (*task)->state, (*task)->exit_code.value_or(-1),
                       (*task)->end > 0 ? "" : " runs");
  }

  record::JobFacts split(const std::string& job_state, double now = 2e9) const {
    record::JobFacts facts;
    if (!job_state.empty()) {
      auto& job = facts[{"0001", 0}];
      job.state = job_state;
      job.job = "7";
      job.nodes = "n1";
      job.gpu_hours = 5;
      job.start = 1;
    }
    split_serial_job(submission, folder(), now, facts);
    return facts;
  }

  record::Submission submission;
};

TEST_CASE("a run of a serial job that fails or hangs does not stop the others",
          "[launch][slurm][serial]") {
  const SerialJob job({"exit 0", "exit 3", "exec sleep 50", "echo ran; exit 0", "echo done"}, 2);
  job.file("it's run 3/job.sbatch", "echo ran\n");  // changed since
  const auto output = job.execute();
  INFO(output.err);
  CHECK(output.code == 0);
  CHECK(job.state(0) == "COMPLETED 0");
  CHECK(job.state(1) == "FAILED 3");
  CHECK(job.state(2) == "TIMEOUT 143");
  CHECK(job.state(3) == "FAILED 1");
  CHECK(job.state(4) == "COMPLETED 0");
  CHECK(output.out.find("ran\n") == std::string::npos);
  CHECK(output.out.find("done\n") != std::string::npos);
}

TEST_CASE("a cancelled run of a serial job ends, or does not begin", "[launch][slurm][serial]") {
  const SerialJob job({": >../begun; exec sleep 50", "echo ran", "exit 0"});
  REQUIRE(cancel_serial_run(job.folder(), 1));
  CHECK_FALSE(is_all_cancelled(job.submission, job.folder()));
  const auto script = "(cd " + shell_quote(job.root().string()) +
                      "; for i in $(seq 300); do [ -e begun ] && break; sleep 0.1; done; : "
                      ">submissions/0001/cancel.0) >/dev/null & cd " +
                      shell_quote((job.root() / "submissions").string()) + ";";
  const auto output = job.execute(script);
  CHECK(output.code == 0);
  CHECK(job.state(0) == "CANCELLED 143");
  CHECK(job.state(1) == "CANCELLED 143");
  CHECK(job.state(2) == "COMPLETED 0");
  CHECK(output.out.find("ran") == std::string::npos);
  CHECK(is_all_cancelled(job.submission, job.folder()));
}

TEST_CASE("a serial job that SLURM ends and starts again goes on where it was",
          "[launch][slurm][serial]") {
  const SerialJob job({"exit 3", "echo begun; exec sleep 50", "exit 0"});
  const auto output = job.execute("(sleep 2; kill -TERM $$) >/dev/null &");
  CHECK(output.code == 143);
  CHECK(job.state(0) == "FAILED 3");
  CHECK(job.state(1) == "RUNNING -1 runs");
  CHECK(job.state(2).empty());
  job.file("it's run 0/job.sbatch", "#!/bin/bash\nexit 0\n");
  job.file("it's run 1/job.sbatch", "#!/bin/bash\nexit 0\n");
  job.file("submissions/0001/submission.json", "{}");
  CHECK(job.execute().code == 0);
  CHECK(job.state(0) == "FAILED 3");
  CHECK(job.state(1) == "COMPLETED 0");
  CHECK(job.state(2) == "COMPLETED 0");
}

TEST_CASE("a serial job that is ended between two runs does not begin the next",
          "[launch][slurm][serial]") {
  const SerialJob job({"exit 3", "echo begun"});
  // It is called between the runs, to find what the first has left.
  job.file("bin/squeue", "#!/bin/sh\nkill -TERM $SCRIPT\n");
  const auto bin = shell_quote((job.root() / "bin").string());
  const auto output =
      job.execute("chmod +x " + bin + "/squeue; export SCRIPT=$$ PATH=" + bin + ":$PATH;");
  CHECK(output.code == 143);
  CHECK(output.out.find("begun") == std::string::npos);
  CHECK(job.state(1).empty());
}

TEST_CASE("the warning that a serial job's time ends does not end its run",
          "[launch][slurm][serial]") {
  const SerialJob job({"trap 'exit 9' USR1; sleep 2; exit 4"});
  CHECK(job.execute("(sleep 0.7; kill -USR1 $$; sleep 0.2; kill -USR1 $$) >/dev/null &").code == 0);
  CHECK(job.state(0) == "FAILED 4");
}

TEST_CASE("the state of a serial job is that of each of its runs", "[launch][slurm][serial]") {
  const SerialJob job({"", "", ""});
  CHECK(job.split("").empty());
  for (std::size_t index : {0, 1, 2}) CHECK(job.split("PENDING").at({"0001", index}).job == "7");

  record::JobFact task;
  task.state = "FAILED";
  task.start = 100;
  task.end = 130;
  task.exit_code = 3;
  REQUIRE(write_task(job.folder(), 0, task));
  task = {};
  task.state = "RUNNING";
  task.start = 130;
  REQUIRE(write_task(job.folder(), 1, task));

  auto facts = job.split("RUNNING", 150);
  CHECK(facts.at({"0001", 0}).state == "FAILED");
  CHECK(facts.at({"0001", 0}).exit_code == 3);
  CHECK(facts.at({"0001", 0}).nodes == "n1");
  CHECK(facts.at({"0001", 1}).state == "RUNNING");
  CHECK(facts.at({"0001", 1}).elapsed_seconds == 20);
  CHECK(facts.at({"0001", 1}).gpu_hours == 0);
  CHECK(facts.at({"0001", 2}).state == "PENDING");
  CHECK(facts.at({"0001", 2}).reason == "InTurn");

  // A run that was cancelled before its turn does not wait for it.
  REQUIRE(cancel_serial_run(job.folder(), 2));
  for (const auto* state : {"PENDING", "RUNNING", "NODE_FAIL", ""})
    CHECK(job.split(state).at({"0001", 2}).state == "CANCELLED");
  fs::remove(cancel_mark(job.folder(), 2));

  // What began ends with the job; what did not begin is unknown, and so submitted again.
  facts = job.split("NODE_FAIL");
  CHECK(facts.at({"0001", 0}).state == "FAILED");
  CHECK(facts.at({"0001", 1}).state == "NODE_FAIL");
  CHECK_FALSE(facts.contains({"0001", 2}));
  CHECK(job.split("CANCELLED").at({"0001", 2}).state == "CANCELLED");
  // SLURM has forgotten the job.
  facts = job.split("");
  CHECK(facts.size() == 1);
  CHECK(facts.at({"0001", 0}).state == "FAILED");
}

}  // namespace
}  // namespace orch::launch
