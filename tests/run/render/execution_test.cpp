#include "tests/run/render/execution.h"

#include "core/base/sha256.h"

using namespace orch;
using namespace orch::render;

TEST_CASE("a job that trains to its end is finished", "[render][execution]") {
  const ExecutedJob job("finish");
  const auto done = job.run();
  CHECK(done.exit_code == 0);
  const auto status = job.status();
  CHECK(status["state"] == "finished");
  CHECK(status["exit_code"] == 0);
  CHECK(status["signal"].is_null());
  CHECK(status["nodes"] == json({"node1", "node2"}));
  CHECK(status["bad_nodes"] == json::array());
  CHECK(status["restart_count"] == 0);
  CHECK(status["job_id"] == "123456");
  CHECK(status["phase"] == 1);
  CHECK(status["phases"] == 1);
  CHECK(status["start"].get<std::string>().size() == 20);
  CHECK(status["end"].get<std::string>() >= status["start"].get<std::string>());
  CHECK(contains(read(job.attempt() / "stdout.log"), "rank 7 speaks"));
  CHECK_FALSE(contains(done.output, "speaks"));
}

TEST_CASE("a trainer that leaves with 0 and says nothing is not called finished",
          "[render][execution]") {
  const ExecutedJob job("exit 0");
  CHECK(job.run().exit_code == 76);  // no phase that depends on this one begins
  CHECK(job.status()["state"] == "left");
  CHECK(job.status()["exit_code"] == 76);
  CHECK(job.status()["message"] ==
        "the trainer exited with code 0 without reporting that it is done");
}

TEST_CASE("each rank learns its own number and the same master", "[render][execution]") {
  const ExecutedJob job("finish");
  CHECK(job.run().exit_code == 0);
  auto lines = split(std::string(trim(read(job.fake() / "ranks.log"))), '\n');
  std::sort(lines.begin(), lines.end());
  REQUIRE(lines.size() == 8);
  for (int rank = 0; rank < 8; ++rank)  // the port: 20000 + 123456 % 10000
    CHECK(lines[static_cast<std::size_t>(rank)] ==
          fmt::format("{} {} 8 node1 23456", rank, rank % 4));
}

TEST_CASE("a task that fails is the failure of the job", "[render][execution]") {
  const ExecutedJob job("[ \"$RANK\" = 5 ] && exit 3\nfinish");
  CHECK(job.run().exit_code == 3);
  CHECK(job.status()["state"] == "failed");
  CHECK(job.status()["exit_code"] == 3);
}

TEST_CASE("the code of the task that failed first counts, not of those ended for it",
          "[render][execution]") {
  // What srun 22.05 prints, and its exit code.
  const ExecutedJob job(
      "[ \"$RANK\" = 5 ] && echo 'srun: error: node2: task 5: Exited with exit code 3' && exit "
      "143\n"
      "finish");
  CHECK(job.run().exit_code == 3);
  CHECK(job.status()["exit_code"] == 3);
  CHECK(contains(job.status()["message"].get<std::string>(), "node2: task 5: Exited"));
}

TEST_CASE("words of a trainer that look like srun's are no exit code", "[render][execution]") {
  for (const std::string code : {"0", "x", "1 2", "999", "3x"}) {
    INFO(code);
    const ExecutedJob job(
        "[ \"$RANK\" = 0 ] && echo 'srun: error: a: task 0: Exited with exit code " + code +
        "'\nexit 7");
    CHECK(job.run().exit_code == 7);
  }
}

TEST_CASE("a step that srun cannot make is no failure of the trainer", "[render][execution]") {
  const ExecutedJob job("finish");
  const std::string refusal =
      "Unable to create step for job 7: Memory required by task is not available";
  const auto real = job.fake() / "srun.real";
  fs::rename(job.fake() / "srun", real);
  // The check of the nodes works; steps with ranks fail.
  write(job.fake() / "srun",
        fmt::format(
            "#!/bin/bash\ncase \"$*\" in *orch-rank*) echo 'srun: error: {}' >&2; exit 1 ;; esac\n"
            "exec {} \"$@\"\n",
            refusal, shell_quote(real.string())),
        true);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
  CHECK(job.status()["message"] ==
        "srun could not start the ranks: " + refusal + "; see stdout.log");
}

TEST_CASE("a job that SLURM starts once more after its end leaves again", "[render][execution]") {
  const ExecutedJob job("finish");
  const std::string submitted =
      "export ORCH_SUBMISSION=s1; mkdir -p \"${folder%/*}/submissions/s1\"\n";
  CHECK(job.start(submitted + "job").exit_code == 0);
  write(job.fake() / "behaviour", "exit 9");
  const auto again = job.start(submitted + "export SLURM_RESTART_COUNT=1\njob");
  CHECK(again.exit_code == 0);
  CHECK(contains(again.output, "job 123456 has finished before"));
  CHECK_FALSE(fs::exists(job.attempt(2)));
  // Another submission is another training, even if SLURM's ids begin again.
  CHECK(job.start("export ORCH_SUBMISSION=s2; mkdir -p \"${folder%/*}/submissions/s2\"\njob")
            .exit_code == 9);
}

TEST_CASE("a job told to stop before it trains is not requeued", "[render][execution]") {
  auto run = two_nodes();
  run.job.setup = "kill -s USR1 $$";
  const ExecutedJob job("finish", "run", run);
  CHECK(job.run().exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK(job.status()["signal"] == "USR1");
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
  CHECK_FALSE(fs::exists(job.fake() / "ranks.log"));
}

TEST_CASE("a trainer at another place can be named", "[render][execution]") {
  auto run = two_nodes();
  run.trainer = "another";
  const ExecutedJob job("finish", "run", run);
  fs::rename(job.fake() / "orch-train-megatron", job.fake() / "another");
  CHECK(job.run().exit_code == 0);
}

// The plan defines everything that affects a result, so variables of a shell must not.
TEST_CASE("a trainer that the run was not planned with is refused", "[render][execution]") {
  const ExecutedJob job("finish");
  const auto done = job.start("export ORCH_TRAINER=/bin/true\njob");
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output,
                 "ORCH_TRAINER is /bin/true, but the run was planned with the "
                 "trainer of its backend"));
  CHECK_FALSE(fs::exists(job.fake() / "ranks.log"));
}

TEST_CASE("a folder that was moved is found by where it was submitted from",
          "[render][execution]") {
  const ExecutedJob job("finish");
  const auto moved = job.path().parent_path() / "moved here";
  const auto spool = job.fake() / "slurm_script";
  fs::copy(job.path(), moved, fs::copy_options::recursive);
  fs::copy_file(job.path() / "job.sbatch", spool);
  fs::remove_all(job.path() / "job.sbatch");
  const auto submit = [&](const std::string& from) {
    return job.start("export SLURM_SUBMIT_DIR=" + shell_quote(from) + "\nexec bash " +
                     shell_quote(spool.string()));
  };
  CHECK(submit(moved.string()).exit_code == 0);
  CHECK(read(moved / "attempts/1/status.json").find("\"finished\"") != std::string::npos);
  CHECK_FALSE(fs::exists(job.path() / "attempts"));
  // Another run's folder is not accepted.
  write(moved / "run.json", "{\n  \"id\": \"gpt-87654321\"\n}\n");
  const auto astray = submit(moved.string());
  CHECK(astray.exit_code == 1);
  CHECK(contains(astray.output, "not the folder of run gpt-12345678"));
}

TEST_CASE("a status tells whose submission it is, and how many GPUs it holds",
          "[render][execution]") {
  const ExecutedJob job("finish");
  fs::create_directories(job.path().parent_path() / "submissions/0007-\"x");
  CHECK(job.start("unset ORCH_SUBMISSION\njob").exit_code == 0);
  CHECK(job.start("export ORCH_SUBMISSION='0007-\"x'\njob").exit_code == 0);
  CHECK(job.status(1)["submission"].is_null());
  CHECK(job.status(1)["gpus"] == 8);
  CHECK(job.status(2)["submission"] == "0007-\"x");
}

TEST_CASE("a framework whose start was changed since it was submitted does not begin",
          "[render][execution]") {
  auto run = two_nodes();
  run.framework = "own";
  const ExecutedJob job("finish", "run", run);
  write(job.path() / "start", kTrainer, true);
  const auto submission = job.path().parent_path() / "submissions/0007-x";
  fs::create_directories(submission);
  const auto begin = [&](const std::string& sum) {
    write(submission / "submission.json",
          fmt::format(R"({{"script_sums": ["x"], "start_sums": ["{}"]}})", sum));
    return job.start("export ORCH_SUBMISSION=0007-x\njob").exit_code;
  };
  CHECK(begin(sha256("echo something else")) == 1);
  CHECK(job.status(1)["state"] == "failed");
  CHECK(job.status(1)["message"] == "start changed since it was submitted");
  CHECK_FALSE(fs::exists(job.attempt() / "started.0"));
  CHECK(begin(sha256(kTrainer)) == 0);
  CHECK(job.status(2)["state"] == "finished");
}

TEST_CASE("the power of a framework's GPUs is written while it trains", "[render][execution]") {
  auto run = two_nodes();
  run.framework = "own";
  const ExecutedJob job("sleep 1\nfinish", "run", run);
  write(job.path() / "start", kTrainer, true);
  // Two GPUs of the first node are asked; of a third one the driver knows nothing.
  write(job.fake() / "nvidia-smi",
        "#!/bin/bash\n"
        "if [ \"$1\" = -L ]; then printf 'GPU %d\\n' 0 1 2 3; exit; fi\n"
        "printf '%s\\n' \"$*\" >>\"$FAKE/nvidia-smi.log\"\n"
        "printf '%s\\n' '100, 600.5' '90, 499.5' '[N/A], [N/A]'\n",
        true);
  const auto done = job.start("export CUDA_VISIBLE_DEVICES=0,1,2\njob");
  INFO(done.output);
  REQUIRE(done.exit_code == 0);
  const auto lines = split(read(job.attempt() / "events.jsonl"), '\n');
  REQUIRE(lines.size() > 2);
  const auto event = json::parse(lines.front());
  CHECK(event["event"] == "gpus");
  CHECK(event["time"] > 1.7e9);
  CHECK(event["use"] == 0.95);
  CHECK(event["watts"] == 550);
  CHECK(event["gpus"] == 8);
  CHECK(contains(read(job.fake() / "nvidia-smi.log"), "-i 0,1,2\n"));
}

TEST_CASE("a job of a submission that was taken back leaves without a trace",
          "[render][execution]") {
  const ExecutedJob job("finish");
  CHECK(job.start("export ORCH_SUBMISSION=0008-x\njob").exit_code == 0);
  CHECK_FALSE(fs::exists(job.path() / "attempts"));
}

TEST_CASE("a step that is killed for its memory is told so", "[render][execution]") {
  // As printed by SLURM 22.05, from JobAcctGather and from a cgroup.
  for (const std::string line :
       {"slurmstepd-node2: error: StepId=2.0 exceeded memory limit (642 > 314), being killed",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0. Some of your processes"}) {
    const ExecutedJob job(
        "[ \"$RANK\" = 5 ] && echo 'srun: error: node2: task 5: Killed' && echo '" + line +
        "' && exit 137\nfinish");
    CHECK(job.run().exit_code == 137);
    CHECK(job.status()["message"] ==
          "node2: task 5: Killed (more memory than the job has); see stdout.log");
  }
}

TEST_CASE("two attempts do not overwrite each other's logs", "[render][execution]") {
  const ExecutedJob job("exit 3");
  CHECK(job.run().exit_code == 3);
  const auto first = read(job.attempt(1) / "stdout.log");
  const auto first_status = read(job.attempt(1) / "status.json");
  write(job.fake() / "behaviour", "finish");
  CHECK(job.start("export SLURM_RESTART_COUNT=1\njob").exit_code == 0);
  CHECK(read(job.attempt(1) / "stdout.log") == first);
  CHECK(read(job.attempt(1) / "status.json") == first_status);
  CHECK(job.status(2)["state"] == "finished");
  CHECK(job.status(2)["restart_count"] == 1);
}

TEST_CASE("an attempt's folder that the launcher made is used", "[render][execution]") {
  const ExecutedJob job("finish");
  fs::create_directories(job.attempt(1));
  write(job.attempt(1) / "job.json", "{}");
  CHECK(job.run().exit_code == 0);
  CHECK(job.status(1)["state"] == "finished");
  CHECK_FALSE(fs::exists(job.attempt(2)));
}

TEST_CASE("no half-written status is left behind", "[render][execution]") {
  const ExecutedJob job("finish");
  CHECK(job.run().exit_code == 0);
  for (const auto& entry : fs::directory_iterator(job.attempt()))
    CHECK_FALSE(entry.path().filename().string().starts_with(".status"));
}

TEST_CASE("fewer nodes than planned are refused", "[render][execution]") {
  const ExecutedJob job("finish");
  const auto done = job.start("export SLURM_NNODES=1 SLURM_JOB_NODELIST=node1\njob");
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output, "4 ranks on 1 nodes, but the plan has 8"));
  CHECK(job.status()["state"] == "failed");
}

TEST_CASE("a missing trainer is a clear failure", "[render][execution]") {
  const ExecutedJob job("finish");
  fs::remove(job.fake() / "orch-train-megatron");
  const auto done = job.run();
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output, "no such program: orch-train-megatron"));
}

TEST_CASE("a setup that fails is the failure of the job", "[render][execution]") {
  auto run = two_nodes();
  run.job.setup = "echo \"$NOT_SET_ANYWHERE\"\nfalse";
  const ExecutedJob job("finish", "run", run);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
}

TEST_CASE("bindings that were inherited do not reach srun", "[render][execution]") {
  const ExecutedJob job(
      "env | grep -E '^(SLURM_CPU_BIND|PMIX_|SBATCH_|SLURM_HINT)' >>\"$FAKE/leaked\"\n"
      "finish");
  CHECK(job.start("export SLURM_CPU_BIND=verbose SLURM_CPU_BIND_LIST=0x1 PMIX_RANK=0 "
                  "SBATCH_QOS=x SLURM_HINT=x\njob")
            .exit_code == 0);
  CHECK(read(job.fake() / "leaked").empty());
}

TEST_CASE("outside SLURM the script says how to start it", "[render][execution]") {
  const ExecutedJob job("finish");
  const auto done = job.start("unset SLURM_JOB_ID\njob");
  CHECK(done.exit_code != 0);
  CHECK(contains(done.output, "submit this script with sbatch"));
}

TEST_CASE("a run folder and variables with hostile names do no harm", "[render][execution]") {
  for (const auto& hostile : hostile_strings()) {
    if (hostile.empty() || contains(hostile, "/")) continue;
    INFO(hostile);
    auto run = two_nodes();
    run.job.environment["HOSTILE"] = hostile;
    const ExecutedJob job("printf %s \"$HOSTILE\" >\"$FAKE/hostile.$RANK\"\nfinish", hostile, run);
    const auto done = job.start("cd \"$FAKE\"\njob");
    INFO(done.output);
    CHECK(done.exit_code == 0);
    CHECK(job.status()["state"] == "finished");
    CHECK(read(job.fake() / "hostile.7") == hostile);
    CHECK_FALSE(fs::exists(job.fake() / "pwned"));
    CHECK_FALSE(fs::exists(job.path() / "pwned"));
  }
}
