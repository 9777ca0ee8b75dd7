// Rendered scripts, executed by bash. srun and scontrol are small stand-ins that start the tasks on
// this machine; what SLURM itself does is not tested here.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/sha256.h"
#include "core/base/text.h"
#include "tests/run/render/run.h"

using namespace orch;
using namespace orch::render;
using nlohmann::json;

namespace {

const char* const kSrun = R"bash(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE/srun.log"
ntasks=1 per_node=1
while [[ $1 == --* ]]; do
  case $1 in
    --ntasks=*) ntasks=${1#*=} ;;
    --ntasks-per-node=*) per_node=${1#*=} ;;
    --nodelist=*) SLURM_JOB_NODELIST=${1#*=} ;;
  esac
  shift
done
IFS=, read -ra nodes <<<"$SLURM_JOB_NODELIST"
pids=() signals=0 worst=0
forward() { signals=$((signals + 1)); kill -s "$1" "${pids[@]}" 2>/dev/null; }
trap 'forward USR1' USR1
trap 'forward TERM' TERM
for ((i = 0; i < ntasks; i++)); do
  SLURM_PROCID=$i SLURM_LOCALID=$((i % per_node)) SLURM_NTASKS=$ntasks \
    SLURMD_NODENAME=${nodes[i / per_node]} "$@" &
  pids+=($!)
done
for pid in "${pids[@]}"; do
  while true; do
    seen=$signals code=0
    wait "$pid" || code=$?
    [ "$seen" = "$signals" ] && break
  done
  ((code > worst)) && worst=$code
done
exit "$worst"
)bash";

const char* const kScontrol = R"bash(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE/scontrol.log"
if [ "$1 $2" = "show hostnames" ]; then printf '%s\n' "${3//,/$'\n'}"; fi
)bash";

// The trainer: what it does is the text of the file "behaviour".
const char* const kTrainer = R"bash(#!/bin/bash
[ "$1" = --run ] && [ "$3" = --attempt ] && [ "$#" = 4 ] || exit 90
attempt=$4
[ "$2" = "$ORCH_RUN_FOLDER/run.json" ] && [ "$attempt" = "$ORCH_ATTEMPT_FOLDER" ] || exit 91
printf '%s\n' "$RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT" >>"$FAKE/ranks.log"
echo "rank $RANK speaks"
finish() { : >"$attempt/finished"; exit 0; }
. "$FAKE/behaviour"
)bash";

// Waits to be told to stop; leaves by itself after a minute so that no test hangs.
const char* const kPatient =
    "trap 'echo saved; exit 0' USR1\n: >\"$attempt/started.$RANK\"\n"
    "for ((n = 0; n < 1200; n++)); do sleep 0.05; done\nexit 99\n";

// A run folder with a rendered script, and a machine that looks like a job of two nodes.
class Job {
 public:
  explicit Job(const std::string& behaviour, const std::string& name = "run",
               plan::Run run = two_nodes())
      : folder_(name) {
    fs::create_directories(fake());
    write(fake() / "srun", kSrun, true);
    write(fake() / "scontrol", kScontrol, true);
    write(fake() / "orch-train-megatron", kTrainer, true);
    // Reports the GPUs of this machine as the test wishes.
    write(fake() / "nvidia-smi",
          "#!/bin/bash\ncount=4\n[ \"$SLURMD_NODENAME\" = \"${FAKE_BAD_NODE:-}\" ] && count=3\n"
          "for ((i = 0; i < count; i++)); do echo \"GPU $i: A100\"; done\n",
          true);
    write(fake() / "behaviour", behaviour);
    write(path() / "run.json", "{\n  \"id\": \"gpt-12345678\"\n}\n");
    const auto made = scripts(run);
    write(path() / "job.sbatch", made.front().text);
  }

  const fs::path& path() const { return folder_.path(); }
  fs::path fake() const { return path().parent_path() / "fake"; }
  fs::path attempt(int number = 1) const { return path() / "attempts" / std::to_string(number); }

  // Bash text around the job; "job" starts it.
  Finished start(const std::string& around) const {
    return bash(fmt::format(
        "export FAKE={} PATH={}:$PATH SLURM_JOB_ID=123456 SLURM_NNODES=2 "
        "SLURM_JOB_NODELIST=node1,node2 SLURM_CPUS_PER_TASK=8 ORCH_POLL_SECONDS=0.1\n"
        "folder={}\n"
        "job() {{ exec bash \"$folder/job.sbatch\"; }}\n"
        "until_there() {{ for ((i = 0; i < 400; i++)); do [ -e \"$1\" ] && return; sleep 0.05; "
        "done; echo \"no $1\"; }}\n{}",
        shell_quote(fake().string()), shell_quote(fake().string()), shell_quote(path().string()),
        around));
  }
  Finished run() const { return start("job"); }

  // Starts the job, waits until every rank trains, and does something to it ($pid).
  Finished disturb(const std::string& action) const {
    return start(
        "job & pid=$!\nfor r in 0 1 2 3 4 5 6 7; do until_there "
        "\"$folder/attempts/1/started.$r\"; done\n" +
        action + "\nwait \"$pid\"");
  }

  json status(int number = 1) const { return json::parse(read(attempt(number) / "status.json")); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a job that trains to its end is finished", "[render][execution]") {
  const Job job("finish");
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
  const Job job("exit 0");
  CHECK(job.run().exit_code == 76);  // no phase that waits for this one begins
  CHECK(job.status()["state"] == "left");
  CHECK(job.status()["exit_code"] == 76);
  CHECK(job.status()["message"] == "the trainer left with code 0, not saying that it is done");
}

TEST_CASE("each rank learns its own number and the same master", "[render][execution]") {
  const Job job("finish");
  CHECK(job.run().exit_code == 0);
  auto lines = split(std::string(trim(read(job.fake() / "ranks.log"))), '\n');
  std::sort(lines.begin(), lines.end());
  REQUIRE(lines.size() == 8);
  for (int rank = 0; rank < 8; ++rank)  // the port: 20000 + 123456 % 10000
    CHECK(lines[static_cast<std::size_t>(rank)] ==
          fmt::format("{} {} 8 node1 23456", rank, rank % 4));
}

TEST_CASE("a task that fails is the failure of the job", "[render][execution]") {
  const Job job("[ \"$RANK\" = 5 ] && exit 3\nfinish");
  CHECK(job.run().exit_code == 3);
  CHECK(job.status()["state"] == "failed");
  CHECK(job.status()["exit_code"] == 3);
}

TEST_CASE("the code of the task that failed first counts, not of those ended for it",
          "[render][execution]") {
  // What srun 22.05 prints, and the code it leaves with.
  const Job job(
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
    const Job job("[ \"$RANK\" = 0 ] && echo 'srun: error: a: task 0: Exited with exit code " +
                  code + "'\nexit 7");
    CHECK(job.run().exit_code == 7);
  }
}

TEST_CASE("a step that srun cannot make is no failure of the trainer", "[render][execution]") {
  const Job job("finish");
  const std::string refusal = "Unable to create step for job 7: Memory required by task is not available";
  const auto real = job.fake() / "srun.real";
  fs::rename(job.fake() / "srun", real);
  // The check of the nodes works; what has ranks does not.
  write(job.fake() / "srun",
        fmt::format("#!/bin/bash\ncase \"$*\" in *orch-rank*) echo 'srun: error: {}' >&2; exit 1 ;; esac\n"
                    "exec {} \"$@\"\n",
                    refusal, shell_quote(real.string())),
        true);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
  CHECK(job.status()["message"] == "srun could not start the ranks: " + refusal + "; see stdout.log");
}

TEST_CASE("a job that SLURM starts once more after its end leaves again", "[render][execution]") {
  const Job job("finish");
  const std::string submitted = "export ORCH_SUBMISSION=s1; mkdir -p \"${folder%/*}/submissions/s1\"\n";
  CHECK(job.start(submitted + "job").exit_code == 0);
  write(job.fake() / "behaviour", "exit 9");
  const auto again = job.start(submitted + "export SLURM_RESTART_COUNT=1\njob");
  CHECK(again.exit_code == 0);
  CHECK(contains(again.output, "job 123456 has finished before"));
  CHECK_FALSE(fs::exists(job.attempt(2)));
  // Another submission is another training, also where SLURM begins to count anew.
  CHECK(job.start("export ORCH_SUBMISSION=s2; mkdir -p \"${folder%/*}/submissions/s2\"\njob").exit_code == 9);
}

TEST_CASE("a job told to stop before it trains is not requeued", "[render][execution]") {
  auto run = two_nodes();
  run.job.setup = "kill -s USR1 $$";
  const Job job("finish", "run", run);
  CHECK(job.run().exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK(job.status()["signal"] == "USR1");
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
  CHECK_FALSE(fs::exists(job.fake() / "ranks.log"));
}

TEST_CASE("a trainer at another place can be named", "[render][execution]") {
  auto run = two_nodes();
  run.trainer = "another";
  const Job job("finish", "run", run);
  fs::rename(job.fake() / "orch-train-megatron", job.fake() / "another");
  CHECK(job.run().exit_code == 0);
}

// What decides a result is in the plan: a run is not trained by what happens to be in a shell.
TEST_CASE("a trainer that the run was not planned with is refused", "[render][execution]") {
  const Job job("finish");
  const auto done = job.start("export ORCH_TRAINER=/bin/true\njob");
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output,
                 "ORCH_TRAINER is /bin/true, but the run was planned with the "
                 "trainer of its backend"));
  CHECK_FALSE(fs::exists(job.fake() / "ranks.log"));
}

TEST_CASE("a folder that was moved is found by where it was submitted from",
          "[render][execution]") {
  const Job job("finish");
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
  // Another run's folder is not taken for this one's.
  write(moved / "run.json", "{\n  \"id\": \"gpt-87654321\"\n}\n");
  const auto astray = submit(moved.string());
  CHECK(astray.exit_code == 1);
  CHECK(contains(astray.output, "not the folder of run gpt-12345678"));
}

TEST_CASE("USR1 reaches every rank, is recorded, and requeues the job", "[render][execution]") {
  const Job job(kPatient);
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
  const Job job(kPatient);
  const auto done = job.start(
      "export SLURM_ARRAY_JOB_ID=123456 SLURM_ARRAY_TASK_ID=7\njob & pid=$!\n"
      "for r in 0 1 2 3 4 5 6 7; do until_there \"$folder/attempts/1/started.$r\"; done\n"
      "kill -USR1 \"$pid\"; wait \"$pid\"");
  CHECK(done.exit_code == 75);
  CHECK(contains(read(job.fake() / "scontrol.log"), "requeue 123456_7\n"));
}

TEST_CASE("a run that finishes while it is told to stop is finished", "[render][execution]") {
  const Job job(
      "trap finish USR1\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -USR1 \"$pid\"").exit_code == 0);
  CHECK(job.status()["state"] == "finished");
  CHECK(job.status()["signal"] == "USR1");
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("the stop file ends a run without a requeue", "[render][execution]") {
  const Job job(kPatient);
  const auto done = job.disturb("touch \"$folder/stop\"");
  CHECK(done.exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK(contains(read(job.attempt() / "stdout.log"), "saved"));
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("the stop file of the experiment ends its runs too", "[render][execution]") {
  const Job job(kPatient);
  CHECK(job.disturb("touch \"$folder/../stop\"").exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
}

TEST_CASE("a stop file that is there already keeps a job from starting", "[render][execution]") {
  const Job job("finish");
  write(job.path() / "stop", "");
  CHECK(job.run().exit_code == 75);
  CHECK(job.status()["state"] == "stopped");
  CHECK_FALSE(fs::exists(job.fake() / "srun.log"));
}

TEST_CASE("a cancelled job says so", "[render][execution]") {
  const Job job(
      "trap 'exit 143' TERM\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
  CHECK(job.status()["signal"] == "TERM");
  CHECK(job.status()["message"] == "cancelled, preempted, or a node was lost");
}

TEST_CASE("a run that does not save in time is cancelled by the limit", "[render][execution]") {
  const Job job(
      "trap : USR1\ntrap 'exit 143' TERM\n: >\"$attempt/started.$RANK\"\n"
      "for ((n = 0; n < 1200; n++)); do sleep 0.05; done");
  CHECK(job.disturb("kill -USR1 \"$pid\"; sleep 0.5; kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
  CHECK(contains(job.status()["message"].get<std::string>(), "the time limit"));
}

TEST_CASE("ranks that are ended before the script is told are cancelled too",
          "[render][execution]") {
  const Job job(
      "[ \"$RANK\" = 0 ] && echo 'srun: error: node1: tasks 0-7: Terminated'\n"
      ": >\"$attempt/started.$RANK\"\nexit 143");
  CHECK(job.disturb("sleep 0.5; kill -TERM \"$pid\"").exit_code == 143);
  CHECK(job.status()["state"] == "cancelled");
}

TEST_CASE("restarts have a limit", "[render][execution]") {
  const Job job(kPatient);
  const auto done = job.start(
      "export SLURM_RESTART_COUNT=7 ORCH_MAX_RESTARTS=7\njob & pid=$!\n"
      "until_there \"$folder/attempts/1/started.7\"; until_there \"$folder/attempts/1/started.0\"\n"
      "sleep 0.5; kill -USR1 \"$pid\"; wait \"$pid\"");
  CHECK(done.exit_code == 75);
  CHECK(job.status()["restart_count"] == 7);
  CHECK_FALSE(contains(read(job.fake() / "scontrol.log"), "requeue"));
}

TEST_CASE("a bad node is reported and named for exclusion", "[render][execution]") {
  const Job job("finish");
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
    const Job job("echo \"$SLURMD_NODENAME\" >>\"$FAKE/used\"\nfinish", "run", run);
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
  const Job job("finish", "run", run);
  const auto done = job.start("export SLURM_NNODES=3 SLURM_JOB_NODELIST=node1,node2,node3\njob");
  CHECK(done.exit_code == 69);
  CHECK(job.status()["bad_nodes"] == json({"node1", "node3"}));
}

TEST_CASE("a single node is checked without a step of its own", "[render][execution]") {
  auto run = bare();
  const Job job("finish", "run", run);
  const auto one =
      std::string("export SLURM_NNODES=1 SLURM_JOB_NODELIST=node1 SLURMD_NODENAME=node1\n");
  CHECK(job.start(one + "job").exit_code == 0);
  CHECK(contains(read(job.fake() / "srun.log"), "orch-rank"));
  CHECK_FALSE(contains(read(job.fake() / "srun.log"), "orch-check"));
  CHECK(job.start(one + "export FAKE_BAD_NODE=node1\njob").exit_code == 69);
  CHECK(job.status(2)["bad_nodes"] == json({"node1"}));
}

TEST_CASE("a status tells whose submission it is, and how many GPUs it holds",
          "[render][execution]") {
  const Job job("finish");
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
  const Job job("finish", "run", run);
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

TEST_CASE("a job of a submission that was taken back leaves without a trace",
          "[render][execution]") {
  const Job job("finish");
  CHECK(job.start("export ORCH_SUBMISSION=0008-x\njob").exit_code == 0);
  CHECK_FALSE(fs::exists(job.path() / "attempts"));
}

TEST_CASE("a step that is killed for its memory is told so", "[render][execution]") {
  // What SLURM 22.05 prints, from JobAcctGather and from a cgroup.
  for (const std::string line :
       {"slurmstepd-node2: error: StepId=2.0 exceeded memory limit (642 > 314), being killed",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0. Some of your processes"}) {
    const Job job("[ \"$RANK\" = 5 ] && echo 'srun: error: node2: task 5: Killed' && echo '" +
                  line + "' && exit 137\nfinish");
    CHECK(job.run().exit_code == 137);
    CHECK(job.status()["message"] ==
          "node2: task 5: Killed (more memory than the job has); see stdout.log");
  }
}

TEST_CASE("nodes that were bad before stay excluded", "[render][execution]") {
  const Job job("finish");
  write(job.path() / "exclude", "node9\nnode2\n");
  const auto done = job.start("export FAKE_BAD_NODE=node2\njob");
  CHECK(contains(done.output, "--exclude=node2,node9\n"));
}

TEST_CASE("the site's own check can find a bad node", "[render][execution]") {
  auto run = two_nodes();
  run.job.environment["ORCH_NODE_CHECK"] = "[ \"$SLURMD_NODENAME\" != node1 ]";
  const Job job("finish", "run", run);
  CHECK(job.run().exit_code == 69);
  CHECK(job.status()["bad_nodes"] == json({"node1"}));
}

TEST_CASE("a check that cannot run accuses no node", "[render][execution]") {
  const Job job("finish");
  write(job.fake() / "srun", "#!/bin/bash\necho 'srun: error: no' >&2\nexit 1\n", true);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
  CHECK_FALSE(fs::exists(job.path() / "exclude"));
}

TEST_CASE("two attempts do not overwrite each other's logs", "[render][execution]") {
  const Job job("exit 3");
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
  const Job job("finish");
  fs::create_directories(job.attempt(1));
  write(job.attempt(1) / "job.json", "{}");
  CHECK(job.run().exit_code == 0);
  CHECK(job.status(1)["state"] == "finished");
  CHECK_FALSE(fs::exists(job.attempt(2)));
}

TEST_CASE("no half-written status is left behind", "[render][execution]") {
  const Job job("finish");
  CHECK(job.run().exit_code == 0);
  for (const auto& entry : fs::directory_iterator(job.attempt()))
    CHECK_FALSE(entry.path().filename().string().starts_with(".status"));
}

TEST_CASE("fewer nodes than planned are refused", "[render][execution]") {
  const Job job("finish");
  const auto done = job.start("export SLURM_NNODES=1 SLURM_JOB_NODELIST=node1\njob");
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output, "4 ranks on 1 nodes, but the plan has 8"));
  CHECK(job.status()["state"] == "failed");
}

TEST_CASE("a missing trainer is a clear failure", "[render][execution]") {
  const Job job("finish");
  fs::remove(job.fake() / "orch-train-megatron");
  const auto done = job.run();
  CHECK(done.exit_code == 1);
  CHECK(contains(done.output, "no such program: orch-train-megatron"));
}

TEST_CASE("a setup that fails is the failure of the job", "[render][execution]") {
  auto run = two_nodes();
  run.job.setup = "echo \"$NOT_SET_ANYWHERE\"\nfalse";
  const Job job("finish", "run", run);
  CHECK(job.run().exit_code == 1);
  CHECK(job.status()["state"] == "failed");
}

TEST_CASE("bindings that were inherited do not reach srun", "[render][execution]") {
  const Job job(
      "env | grep -E '^(SLURM_CPU_BIND|PMIX_|SBATCH_|SLURM_HINT)' >>\"$FAKE/leaked\"\n"
      "finish");
  CHECK(job.start("export SLURM_CPU_BIND=verbose SLURM_CPU_BIND_LIST=0x1 PMIX_RANK=0 "
                  "SBATCH_QOS=x SLURM_HINT=x\njob")
            .exit_code == 0);
  CHECK(read(job.fake() / "leaked").empty());
}

TEST_CASE("outside SLURM the script says how to start it", "[render][execution]") {
  const Job job("finish");
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
    const Job job("printf %s \"$HOSTILE\" >\"$FAKE/hostile.$RANK\"\nfinish", hostile, run);
    const auto done = job.start("cd \"$FAKE\"\njob");
    INFO(done.output);
    CHECK(done.exit_code == 0);
    CHECK(job.status()["state"] == "finished");
    CHECK(read(job.fake() / "hostile.7") == hostile);
    CHECK_FALSE(fs::exists(job.fake() / "pwned"));
    CHECK_FALSE(fs::exists(job.path() / "pwned"));
  }
}
