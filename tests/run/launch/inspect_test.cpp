#include "core/run/launch/inspect.h"

#include <signal.h>
#include <sys/wait.h>

#include "core/base/flight.h"
#include "core/run/launch/local/local_machine.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

using namespace orch;
using test::eventually;
using test::LocalExperiment;
using test::PlainShell;

namespace {

// Records its commands, and returns a defined answer.
class RecordingShell : public Shell {
 public:
  Result<Output> run(const Command& command) override {
    asked = command;
    return answer;
  }
  Command asked;
  Output answer;
};

struct InspectedRank {
  int begun;           // number of collectives, the last of which
  const char* kind;    // is this one
  bool inside = true;  // and not ended
  const char* group = "data";
};

fs::path make_attempt(const fs::path& run, const std::vector<InspectedRank>& ranks) {
  const auto flights = run / "attempts/1/flight";
  fs::create_directories(flights);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    flight::Recorder recorder(flights.string(), static_cast<int>(i));
    recorder.step(40 + static_cast<int>(i));
    for (int n = 1; n < ranks[i].begun; ++n) recorder.end(recorder.begin("barrier", "world", 0));
    const auto last = recorder.begin(ranks[i].kind, ranks[i].group, 4096);
    if (!ranks[i].inside) recorder.end(last);
  }
  return run;
}

launch::Inspection inspect(const fs::path& run, int ranks) {
  PlainShell shell;
  launch::InspectRequest request;
  request.run_folder = run;
  request.ranks = ranks;
  request.now = SystemClock().now() + 100;
  request.job.state = "COMPLETED";
  const auto inspection = launch::inspect_run(shell, request);
  REQUIRE(inspection);
  return *inspection;
}

std::vector<int> suspects(const launch::Inspection& inspection) {
  std::vector<int> found;
  for (const auto& report : inspection.ranks)
    if (!report.suspicion.empty()) found.push_back(report.rank);
  return found;
}

}  // namespace

TEST_CASE("inspect finds the rank that lags behind", "[launch][inspect]") {
  LocalExperiment experiment;
  const auto run = make_attempt(
      experiment.folder() / "a",
      {{12, "all_reduce"}, {12, "all_reduce"}, {11, "all_gather", false}, {12, "all_reduce"}});
  const auto inspection = inspect(run, 4);
  REQUIRE(inspection.ranks.size() == 4);
  CHECK(suspects(inspection) == std::vector<int>{2});
  CHECK(inspection.ranks[2].suspicion == "has begun 11 collectives, others up to 12");
  const auto& first = inspection.ranks[0];
  CHECK(first.step == 40);
  REQUIRE(first.collective);
  CHECK(first.collective->kind == "all_reduce");
  CHECK(first.collective->group == "data");
  CHECK(first.collective->sequence == 12);
  CHECK(first.collective->inside());
  CHECK(first.collective_seconds >= 99);
  CHECK_FALSE(inspection.ranks[2].collective->inside());
  CHECK_FALSE(inspection.probed);
}

TEST_CASE("inspect finds the rank in another collective, and the one without",
          "[launch][inspect]") {
  LocalExperiment experiment;
  const auto run =
      make_attempt(experiment.folder() / "a",
                   {{9, "all_reduce"}, {9, "broadcast"}, {9, "all_reduce"}, {9, "all_reduce"}});
  std::ofstream(run / "attempts/1/flight/rank-5") << "rubbish";
  const auto inspection = inspect(run, 5);
  CHECK(suspects(inspection) == std::vector<int>{1, 4});
  CHECK(inspection.ranks[1].suspicion ==
        "in broadcast of data, while 3 ranks are in all_reduce of data");
  CHECK(inspection.ranks[4].suspicion == "has no flight recording");
  REQUIRE(inspection.notes.size() == 1);
  CHECK(inspection.notes[0] == "flight/rank-5 is damaged");
}

TEST_CASE("inspect finds the end of the chain in which stages wait", "[launch][inspect]") {
  LocalExperiment experiment;
  const auto run = make_attempt(experiment.folder() / "a", {{63, "recv", true, "up 1→0"},
                                                            {110, "recv", true, "up 2→1"},
                                                            {108, "all_reduce", true, "tensor"},
                                                            {63, "recv", true, "down 2→3"}});
  const auto inspection = inspect(run, 4);
  CHECK(suspects(inspection) == std::vector<int>{2});
  CHECK(inspection.ranks[2].suspicion ==
        "in all_reduce of tensor, while 3 ranks wait for another stage");
}

TEST_CASE("of several open collectives, the oldest holds a rank up", "[launch][inspect]") {
  LocalExperiment experiment;
  const auto run = experiment.folder() / "a";
  fs::create_directories(run / "attempts/1/flight");
  flight::Recorder recorder((run / "attempts/1/flight").string(), 0);
  recorder.end(recorder.begin("barrier", "world", 0));
  recorder.begin("all_gather", "data", 1);
  recorder.end(recorder.begin("send", "pipeline", 1));
  recorder.begin("all_reduce", "tensor", 1);
  const auto inspection = inspect(run, 1);
  CHECK(inspection.ranks[0].collective->sequence == 2);
  CHECK(inspection.ranks[0].begun == 4);
  CHECK(suspects(inspection).empty());
}

TEST_CASE("inspect looks at the processes of a local run", "[launch][inspect]") {
  LocalExperiment experiment("a b'\"$(touch pwned)");
  // A child with the same environment: it is not the rank.
  const auto run = experiment.add_run("a", "sleep 100 & train", 2);
  experiment.submit("0001-s", {"a"});
  REQUIRE(eventually([&] {
    return fs::exists(run / "attempts/1/started.0") && fs::exists(run / "attempts/1/started.1");
  }));
  PlainShell shell;
  launch::InspectRequest request;
  request.run_folder = run;
  request.executor = "local";
  request.job = experiment.poll("0001-s");
  request.now = SystemClock().now();
  const auto inspection = launch::inspect_run(shell, request);
  REQUIRE(inspection);
  CHECK(inspection->probed);
  REQUIRE(inspection->ranks.size() == 2);
  for (const auto& report : inspection->ranks) {
    REQUIRE(report.process);
    const auto& process = *report.process;
    const auto pid =
        std::stoi(test::slurp(run / "attempts/1" / ("pid." + std::to_string(report.rank))));
    CHECK(process.pid == pid);
    CHECK(process.resident > 100'000);
    CHECK(std::string("RSD").find(process.state) != std::string::npos);
    const bool has_stack = process.stack_from == "gdb" || process.stack_from == "eu-stack";
    CHECK(has_stack == process.note.empty());
    CHECK((process.stack_from.empty() == process.stack.empty()));
    const auto now = launch::read_process(pid);
    REQUIRE(now);
    CHECK(now->state != 'T');
    CHECK(now->state != 't');
  }
}

TEST_CASE("inspect asks a job's nodes through a step that overlaps", "[launch][inspect]") {
  LocalExperiment experiment;
  const auto run = make_attempt(experiment.folder() / "a", {{3, "all_reduce"}, {3, "all_reduce"}});
  RecordingShell shell;
  shell.answer.out =
      "orch-probe 1 4711 a100-2 info D 12 4096000 nvidia_ioctl\n"
      "orch-probe 0 4711 a100-1 info S 3 1024 0\n"
      "orch-probe 1 4711 a100-2 from gdb\n"
      "\xff rubbish\norch-probe x y\norch-probe -3 1 h info S\n"
      "orch-probe 1 4711 a100-2 stack [New LWP 12]\n"
      "orch-probe 1 4711 a100-2 stack #0  0x1 in ncclAllReduce ()\n"
      "orch-probe 0 4711 a100-1 from \n";
  launch::InspectRequest request;
  request.run_folder = run;
  request.ranks = 2;
  request.executor = "slurm";
  request.job.state = "RUNNING";
  request.job.job = "123_4";
  request.nodes = 2;
  const auto inspection = launch::inspect_run(shell, request);
  REQUIRE(inspection);
  const auto& argv = shell.asked.argv;
  REQUIRE(argv.size() >= 6);
  CHECK(argv[0] == "srun");
  CHECK(argv[1] == "--jobid=123_4");
  CHECK(std::find(argv.begin(), argv.end(), "--overlap") != argv.end());
  CHECK(std::find(argv.begin(), argv.end(), "--nodes=2") != argv.end());
  CHECK(argv[argv.size() - 2] == (run / "attempts/1").string());
  const auto pid = std::to_string(::getpid());
  CHECK(argv.back() == "0:" + pid + " 1:" + pid);

  REQUIRE(inspection->ranks.size() == 2);
  const auto& stuck = *inspection->ranks[1].process;
  CHECK(stuck.host == "a100-2");
  CHECK(stuck.state == 'D');
  CHECK(stuck.wchan == "nvidia_ioctl");
  CHECK(stuck.cpu_seconds == 12);
  CHECK(stuck.stack == std::vector<std::string>{"#0  0x1 in ncclAllReduce ()"});
  CHECK(stuck.note.empty());
  CHECK_FALSE(inspection->ranks[0].process->note.empty());
  CHECK(inspection->ranks[0].process->wchan.empty());

  shell.answer = {1, "", "srun: error: Unable to confirm allocation", false};
  const auto failed = launch::inspect_run(shell, request);
  REQUIRE(failed);
  CHECK_FALSE(failed->probed);
  REQUIRE(failed->notes.size() == 1);
  CHECK(failed->notes[0].find("Unable to confirm allocation") != std::string::npos);
}

TEST_CASE("inspect reaches the ranks of a real job", "[launch][inspect][slurm]") {
  LocalExperiment experiment;
  const auto script = std::string(ORCH_SOURCE_DIR) + "/tests/slurm/cluster";
  const auto cluster = (experiment.folder().parent_path() / "slurm").string();
  PlainShell shell;
  const auto conf = cluster + "/slurm.conf";
  ::setenv("SLURM_CONF", conf.c_str(), 1);
  const auto started = shell.run({.argv = {"env", "bash", script, "start", cluster}});
  REQUIRE(started);
  if (started->code == 77) SKIP("no SLURM here: " + started->err);
  REQUIRE(started->code == 0);

  const auto run = experiment.add_run("a", "train", 4);
  fs::create_directories(run / "attempts/1/flight");
  const auto attempt = (run / "attempts/1").string();
  std::ofstream(run / "job") << "#!/bin/bash\n"
                                "export ORCH_RUN_FOLDER=$1 ORCH_ATTEMPT_FOLDER=$2\n"
                                "srun bash -c 'export RANK=$SLURM_PROCID; exec \"$@\"' rank \"$3\" "
                                "--run \"$1/run.json\" --attempt \"$2\"\n";
  const auto submitted = shell.run(
      {.argv = {"sbatch", "--parsable", "--partition=gpu_p5", "--nodes=2", "--ntasks-per-node=2",
                "--gres=gpu:2", "--output=/dev/null", (run / "job").string(), run.string(), attempt,
                std::string(ORCH_SOURCE_DIR) + "/tests/run/launch/trainer"}});
  const bool began = submitted && submitted->code == 0 && eventually([&] {
                       for (const char* rank : {"0", "1", "2", "3"})
                         if (!fs::exists(run / "attempts/1" / (std::string("started.") + rank)))
                           return false;
                       return true;
                     });
  launch::InspectRequest request;
  request.run_folder = run;
  request.ranks = 4;
  request.executor = "slurm";
  request.job.state = "RUNNING";
  if (submitted) request.job.job = submitted->out.substr(0, submitted->out.find('\n'));
  request.nodes = 2;
  const auto inspection = launch::inspect_run(shell, request);
  const auto stopped = shell.run({.argv = {"env", "bash", script, "stop", cluster}});
  ::unsetenv("SLURM_CONF");

  REQUIRE(began);
  REQUIRE(inspection);
  INFO((inspection->notes.empty() ? "" : inspection->notes.back()));
  CHECK(inspection->probed);
  REQUIRE(inspection->ranks.size() == 4);
  for (const auto& report : inspection->ranks) {
    CAPTURE(report.rank);
    REQUIRE(report.process);
    CHECK(report.process->host == (report.rank < 2 ? "a100-1" : "a100-2"));
    const auto pid = test::slurp(run / "attempts/1" / ("pid." + std::to_string(report.rank)));
    CHECK(std::to_string(report.process->pid) + "\n" == pid);
  }
  CHECK(stopped);
}
