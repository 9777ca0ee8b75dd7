// Events that end a job before its training is done: signals, stop files, time limits and bad
// nodes.

#include "tests/run/render/execution.h"

using namespace orch;
using namespace orch::render;

TEST_CASE("USR1 reaches every rank, is recorded, and requeues the job", "[render][execution]") {
  const ExecutedJob job(kPatient);
  const auto done = job.disturb("kill -USR1 \"$pid\"");
  CHECK(done.exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK(job.status()["signal"] == "USR1");
  CHECK(contains(read(job.fake() / "scontrol.log"), "requeue 123456\n"));
  const auto log = read(job.attempt() / "stdout.log");
  std::size_t saved = 0;
  for (const auto& line : split(log, '\n')) saved += line == "saved";
  CHECK(saved == 8);
}

TEST_CASE("a task of an array requeues itself alone", "[render][execution]") {
  // The last task has the id of the whole array.
  const ExecutedJob job(kPatient);
  const auto done = job.start(
      "export SLURM_ARRAY_JOB_ID=123456 SLURM_ARRAY_TASK_ID=7\njob & pid=$!\n"
      "for r in 0 1 2 3 4 5 6 7; do until_there \"$folder/attempts/1/started.$r\"; done\n"
      "kill -USR1 \"$pid\"; wait \"$pid\"");
  CHECK(done.exit_code == 75);
  CHECK(contains(read(job.fake() / "scontrol.log"), "requeue 123456_7\n"));
}

TEST_CASE("a run that finishes while it is told to stop is finished", "[render][execution]") {
  const ExecutedJob job(
      "trap finish USR1\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -USR1 \"$pid\"").exit_code == 0);
  CHECK(job.status()["state"] == "finished");
  CHECK(job.status()["signal"] == "USR1");
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("the stop file ends a run without a requeue", "[render][execution]") {
  const ExecutedJob job(kPatient);
  const auto done = job.disturb("touch \"$folder/stop\"");
  CHECK(done.exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK(contains(read(job.attempt() / "stdout.log"), "saved"));
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("the stop file of the experiment ends its runs too", "[render][execution]") {
  const ExecutedJob job(kPatient);
  CHECK(job.disturb("touch \"$folder/../stop\"").exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
}

TEST_CASE("a stop file that exists already keeps a job from starting", "[render][execution]") {
  const ExecutedJob job("finish");
  write(job.path() / "stop", "");
  CHECK(job.run().exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK_FALSE(fs::exists(job.fake() / "srun.log"));
}

TEST_CASE("a cancelled job says so", "[render][execution]") {
  const ExecutedJob job(
      "trap 'exit 143' TERM\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
  CHECK(job.status()["signal"] == "TERM");
  CHECK(job.status()["message"] == "cancelled, preempted, or a node was lost");
}

TEST_CASE("a run that does not save in time is cancelled by the limit", "[render][execution]") {
  const ExecutedJob job(
      "trap : USR1\ntrap 'exit 143' TERM\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -USR1 \"$pid\"; sleep 0.5; kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
  CHECK(contains(job.status()["message"].get<std::string>(), "the time limit"));
}

TEST_CASE("ranks that are ended before the script is told are cancelled too",
          "[render][execution]") {
  const ExecutedJob job(
      "[ \"$RANK\" = 0 ] && echo 'srun: error: node1: tasks 0-7: Terminated'\n"
      ": >\"$attempt/started.$RANK\"\nexit 143");
  CHECK(job.disturb("sleep 0.5; kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
}

TEST_CASE("restarts have a limit", "[render][execution]") {
  const ExecutedJob job(kPatient);
  const auto done = job.start(
      "export SLURM_RESTART_COUNT=7 ORCH_MAX_RESTARTS=7\njob & pid=$!\n"
      "until_there \"$folder/attempts/1/started.7\"; until_there \"$folder/attempts/1/started.0\"\n"
      "sleep 0.5; kill -USR1 \"$pid\"; wait \"$pid\"");
  CHECK(done.exit_code == 75);
  CHECK(job.status()["restart_count"] == 7);
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("a bad node is reported and named for exclusion", "[render][execution]") {
  const ExecutedJob job("finish");
  const auto done = job.start("export FAKE_BAD_NODE=node2\njob");
  CHECK(done.exit_code == 69);
  CHECK(job.status()["state"] == "bad_nodes");
  CHECK(job.status()["bad_nodes"] == json({"node2"}));
  CHECK(read(job.attempt() / "bad_nodes") == "node2\n");
  CHECK(read(job.path() / "exclude") == "node2\n");
  CHECK(contains(done.output, "node2 bad: 3 of 4 GPUs answer"));
  CHECK(contains(done.output, "--exclude=node2\n"));
  CHECK_FALSE(fs::exists(job.fake() / "ranks.log"));
}

TEST_CASE("a spare node takes the place of a bad one", "[render][execution]") {
  auto run = two_nodes();
  run.job.spare_nodes = 1;
  for (const std::string bad : {"node1", "node2", "node3", "none"}) {
    INFO(bad);
    const ExecutedJob job("echo \"$SLURMD_NODENAME\" >>\"$FAKE/used\"\nfinish", "run", run);
    const auto done = job.start(
        "export SLURM_NNODES=3 SLURM_JOB_NODELIST=node1,node2,node3\n"
        "export FAKE_BAD_NODE=" +
        bad + "\njob");
    CHECK(done.exit_code == 0);
    const auto status = job.status();
    CHECK(status["state"] == "finished");
    CHECK(status["gpus"] == 12);
    CHECK(status["nodes"] == json({"node1", "node2", "node3"}));
    CHECK(status["bad_nodes"] == (bad == "none" ? json::array() : json({bad})));
    CHECK(fs::exists(job.path() / "exclude") == (bad != "none"));
    const auto team = bad == "node1"   ? "node2,node3"
                      : bad == "node2" ? "node1,node3"
                                       : "node1,node2";
    CHECK(contains(read(job.fake() / "srun.log"), fmt::format("--nodes=2 --nodelist={} ", team)));
    CHECK(contains(read(job.fake() / "ranks.log"), fmt::format("7 3 8 {:.5} 23456\n", team)));
    const auto used = read(job.fake() / "used");
    CHECK(contains(used, bad + "\n") == false);
    CHECK(std::count(used.begin(), used.end(), '\n') == 8);
  }
}

TEST_CASE("too few good nodes are bad news in spite of a spare one", "[render][execution]") {
  auto run = two_nodes();
  run.job.spare_nodes = 1;
  run.job.environment["ORCH_NODE_CHECK"] = "[ \"$SLURMD_NODENAME\" = node2 ]";
  const ExecutedJob job("finish", "run", run);
  const auto done = job.start("export SLURM_NNODES=3 SLURM_JOB_NODELIST=node1,node2,node3\njob");
  CHECK(done.exit_code == 69);
  CHECK(job.status()["bad_nodes"] == json({"node1", "node3"}));
}

TEST_CASE("a single node is checked without a step of its own", "[render][execution]") {
  auto run = bare();
  const ExecutedJob job("finish", "run", run);
  const auto one =
      std::string("export SLURM_NNODES=1 SLURM_JOB_NODELIST=node1 SLURMD_NODENAME=node1\n");
  CHECK(job.start(one + "job").exit_code == 0);
  CHECK(contains(read(job.fake() / "srun.log"), "orch-rank"));
  CHECK_FALSE(contains(read(job.fake() / "srun.log"), "orch-check"));
  CHECK(job.start(one + "export FAKE_BAD_NODE=node1\njob").exit_code == 69);
  CHECK(job.status(2)["bad_nodes"] == json({"node1"}));
}

TEST_CASE("nodes that were bad before stay excluded", "[render][execution]") {
  const ExecutedJob job("finish");
  write(job.path() / "exclude", "node9\nnode2\n");
  const auto done = job.start("export FAKE_BAD_NODE=node2\njob");
  CHECK(contains(done.output, "--exclude=node2,node9\n"));
}

TEST_CASE("the site's own check can find a bad node", "[render][execution]") {
  auto run = two_nodes();
  run.job.environment["ORCH_NODE_CHECK"] = "[ \"$SLURMD_NODENAME\" != node1 ]";
  const ExecutedJob job("finish", "run", run);
  CHECK(job.run().exit_code == 69);
  CHECK(job.status()["bad_nodes"] == json({"node1"}));
}

TEST_CASE("a check that cannot run accuses no node", "[render][execution]") {
  const ExecutedJob job("finish");
  write(job.fake() / "srun", "#!/bin/bash\necho 'srun: error: no' >&2\nexit 1\n", true);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
  CHECK_FALSE(fs::exists(job.path() / "exclude"));
}
