// How local runs end other than by finishing.
#include <signal.h>

#include <nlohmann/json.hpp>

#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_tasks.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

using namespace orch;
using test::eventually;
using test::LocalExperiment;
using test::slurp;

namespace {

// A trainer that saves on request.
constexpr auto kSaves = "trap 'echo saved; : >\"$attempt/saved.$RANK\"; exit 0' USR1; train";

nlohmann::json written_status(const fs::path& run) {
  return nlohmann::json::parse(slurp(run / "attempts/1/status.json"));
}

pid_t pid_of(const fs::path& run, int rank) {
  const auto file = run / "attempts/1" / ("pid." + std::to_string(rank));
  REQUIRE(eventually([&] { return !slurp(file).empty(); }));
  return static_cast<pid_t>(std::stol(slurp(file)));
}

bool is_gone(pid_t pid) {
  const auto process = launch::read_process(pid);
  return !process || process->state == 'Z';
}

bool started(const fs::path& run, int ranks) {
  return eventually([&] {
    for (int rank = 0; rank < ranks; ++rank)
      if (!fs::exists(run / "attempts/1" / ("started." + std::to_string(rank)))) return false;
    return true;
  });
}

}  // namespace

TEST_CASE("one rank of four fails: the others end, and the message names it", "[launch][local]") {
  LocalExperiment experiment;
  const auto run =
      experiment.add_run("a",
                         "if [ $RANK = 2 ]; then\n"
                         "  for r in 0 1 3; do\n"
                         "    until [ -e \"$attempt/started.$r\" ]; do sleep 0.1; done\n"
                         "  done\n"
                         "  exit 3\n"
                         "fi; train",
                         4);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "FAILED");
  CHECK(fact.exit_code == 3);
  CHECK(written_status(run)["state"] == "failed");
  CHECK(written_status(run)["exit_code"] == 3);
  CHECK(written_status(run)["message"] == "rank 2: exited with code 3; see stdout.log");
  for (int rank = 0; rank < 4; ++rank) CHECK(is_gone(pid_of(run, rank)));
}

TEST_CASE("ranks that ignore TERM, and what they left behind, are killed", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a",
                                      "setsid sleep 100 & echo $! >\"$attempt/left\"\n"
                                      "trap '' TERM\n"
                                      "if [ $RANK = 1 ]; then\n"
                                      "  until [ -e \"$attempt/started.0\" ]; do sleep 0.1; done\n"
                                      "  exit 4\n"
                                      "fi; train",
                                      2);
  ::setenv("TEST_KILL", "2", 1);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").exit_code == 4);
  CHECK(is_gone(pid_of(run, 0)));
  CHECK(is_gone(static_cast<pid_t>(std::stol(slurp(run / "attempts/1/left")))));
}

TEST_CASE("a rank that is killed is named with its signal", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "train", 2);
  experiment.submit("0001-s", {"a"});
  REQUIRE(started(run, 2));
  ::kill(pid_of(run, 1), SIGSEGV);
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "FAILED");
  CHECK(fact.exit_code == 139);
  CHECK(fact.reason == "rank 1: killed by signal 11 (Segmentation fault); see stdout.log");
}

TEST_CASE("a rank that leaves while others stay ends the run", "[launch][local]") {
  LocalExperiment experiment;
  experiment.add_run("a", "[ $RANK = 0 ] && exit 0; train", 2);
  ::setenv("TEST_WAIT", "3", 1);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "FAILED");
  CHECK(fact.reason == "rank 0 exited, and others continued for 3 s");
}

TEST_CASE("ranks that all leave with 0 and say nothing are not called finished",
          "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "exit 0", 2);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "FAILED");
  CHECK(fact.exit_code == 76);
  CHECK(written_status(run)["state"] == "left");
  CHECK(written_status(run)["message"] ==
        "the trainer exited with code 0 without reporting that it is done");
}

TEST_CASE("ranks that use too much memory are killed", "[launch][local]") {
  LocalExperiment experiment;
  // A shell that doubles a string until it is 128 MiB, and keeps it.
  const auto run = experiment.add_run(
      "a", "x=0123456789abcdef; while [ ${#x} -lt 134217728 ]; do x=$x$x; done; train", 1);
  ::setenv("TEST_MEMORY", "67108864", 1);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "OUT_OF_MEMORY");
  CHECK(fact.out_of_memory);
  CHECK(fact.exit_code == 137);
  CHECK(written_status(run)["state"] == "failed");
  const auto message = written_status(run)["message"].get<std::string>();
  CHECK(message.find("out of memory: the ranks use ") == 0);
  CHECK(message.find("the limit is 67.1 MB") != std::string::npos);
}

TEST_CASE("before the time limit a run saves and stops", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.ranks = 2;
  job.time = "00:10:00";
  job.signal_seconds = 592;  // early enough that even slow ranks receive it
  const auto run = experiment.add_run("a", kSaves, job);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "FAILED");
  CHECK(fact.exit_code == 75);
  CHECK(written_status(run)["state"] == "stopped");
  CHECK(written_status(run)["signal"] == "USR1");
  CHECK(fs::exists(run / "attempts/1/saved.0"));
  CHECK(fs::exists(run / "attempts/1/saved.1"));
}

TEST_CASE("a run that finishes when it is told to stop is finished", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.time = "00:10:00";
  job.signal_seconds = 592;
  const auto run = experiment.add_run("a", "trap finish USR1; train", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").state == "COMPLETED");
  CHECK(written_status(run)["state"] == "finished");
}

TEST_CASE("a run that does not save is ended at the time limit", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.time = "00:00:10";
  job.signal_seconds = 2;
  const auto run = experiment.add_run("a", "trap '' USR1 TERM; train", job);
  ::setenv("TEST_KILL", "2", 1);
  experiment.submit("0001-s", {"a"});
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "TIMEOUT");
  CHECK(fact.exit_code == 137);
  CHECK(written_status(run)["state"] == "cancelled");
  CHECK(written_status(run)["signal"] == "TERM");
}

TEST_CASE("a time limit that leaves no time to train is an error", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.time = "00:01:00";
  job.signal_seconds = 600;
  experiment.add_run("a", "finish", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").reason.find("told to stop before it began") != std::string::npos);
}

TEST_CASE("the stop file of a run, or of the experiment, stops it", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", kSaves, 2);
  const auto second = experiment.add_run("b", kSaves, 1);
  experiment.submit("0001-s", {"a", "b"});
  REQUIRE(started(run, 2));
  std::ofstream(experiment.folder() / "stop") << "";
  CHECK(experiment.wait("0001-s", 0).exit_code == 75);
  CHECK(written_status(run)["message"] == "the stop file is there");
  CHECK(fs::exists(run / "attempts/1/saved.1"));
  CHECK(experiment.wait("0001-s", 1).exit_code == 75);
  CHECK_FALSE(fs::exists(second / "attempts/1/pid.0"));
  CHECK(written_status(second)["state"] == "stopped");
}

TEST_CASE("USR1 to the supervisor saves the run at hand only", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", kSaves, 1);
  experiment.add_run("b", "finish", 1);
  const auto job = experiment.submit("0001-s", {"a", "b"}).job;
  REQUIRE(started(run, 1));
  ::kill(launch::parse_supervisor_id(job)->pid, SIGUSR1);
  CHECK(experiment.wait("0001-s", 0).exit_code == 75);
  CHECK(experiment.wait("0001-s", 1).state == "COMPLETED");
}

TEST_CASE("cancel ends a running run and skips one that waits", "[launch][local]") {
  LocalExperiment experiment;
  const auto first = experiment.add_run("a", "train", 2);
  const auto second = experiment.add_run("b", "finish");
  experiment.add_run("c", "finish");
  experiment.submit("0001-s", {"a", "b", "c"});
  REQUIRE(started(first, 2));
  const auto waiting = experiment.poll("0001-s", 1);
  CHECK(waiting.state == "PENDING");
  CHECK(waiting.reason == "waiting for the runs before it");
  REQUIRE(experiment.executor().cancel({waiting, experiment.poll("0001-s", 0)}));
  CHECK(experiment.wait("0001-s", 2).state == "COMPLETED");
  CHECK(experiment.poll("0001-s", 0).state == "CANCELLED");
  CHECK(experiment.poll("0001-s", 1).state == "CANCELLED");
  CHECK(written_status(first)["state"] == "cancelled");
  CHECK_FALSE(fs::exists(second / "attempts"));
  CHECK(experiment.executor().cancel({experiment.poll("0001-s", 0)}));
}

TEST_CASE("TERM to the supervisor cancels all", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "train", 2);
  experiment.add_run("b", "finish");
  const auto job = experiment.submit("0001-s", {"a", "b"}).job;
  REQUIRE(started(run, 2));
  ::kill(launch::parse_supervisor_id(job)->pid, SIGTERM);
  CHECK(experiment.wait("0001-s", 0).state == "CANCELLED");
  CHECK(experiment.wait("0001-s", 1).state == "CANCELLED");
  CHECK(written_status(run)["state"] == "cancelled");
}

// Like orch cancel and rm -rf: the mark is gone before it was read.
TEST_CASE("a supervisor whose folder is deleted ends, whether it works or waits",
          "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "train", 2);
  for (const auto* id : {"b", "c"}) experiment.add_run(id, "finish");
  const auto works = launch::parse_supervisor_id(experiment.submit("0001-s", {"a", "b"}).job);
  REQUIRE(started(run, 2));
  const auto waits = launch::parse_supervisor_id(experiment.submit("0002-s", {"c"}).job);
  REQUIRE(eventually([&] { return experiment.poll("0002-s").reason.starts_with("another"); }));
  fs::remove_all(experiment.submission("0002-s"));
  CHECK(eventually([&] { return !launch::is_alive(*waits); }));
  CHECK(launch::is_alive(*works));
  fs::remove_all(experiment.submission("0001-s"));
  CHECK(eventually([&] { return !launch::is_alive(*works); }));
  for (const int rank : {0, 1}) CHECK(is_gone(pid_of(run, rank)));
  CHECK(written_status(run)["message"] == "the folder of the submission was deleted");
  for (const auto* id : {"b", "c"}) CHECK_FALSE(fs::exists(experiment.folder() / id / "attempts"));
}

TEST_CASE("a folder that was moved is not deleted", "[launch][local]") {
  LocalExperiment experiment;
  const auto path = experiment.submission("0001-s"), moved = experiment.submission("moved");
  fs::create_directories(path);
  const launch::SupervisorFolder folder(path);
  CHECK_FALSE(folder.asks_to_cancel(0));
  fs::rename(path, moved);
  CHECK_FALSE(folder.is_deleted());
  fs::remove_all(moved);
  CHECK(folder.is_deleted());
  CHECK(folder.asks_to_cancel(0));
  CHECK(launch::SupervisorFolder(path).is_deleted());
}

TEST_CASE("ranks die with their supervisor, and the run is a node failure", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "train", 4);
  experiment.add_run("b", "finish");
  const auto job = experiment.submit("0001-s", {"a", "b"}).job;
  REQUIRE(started(run, 4));
  ::kill(launch::parse_supervisor_id(job)->pid, SIGKILL);
  for (int rank = 0; rank < 4; ++rank) {
    const auto pid = pid_of(run, rank);
    CHECK(eventually([&] { return is_gone(pid); }));
  }
  for (const std::size_t index : {0, 1}) {
    const auto fact = experiment.wait("0001-s", index);
    CHECK(fact.state == "NODE_FAIL");
    CHECK(fact.reason == "the supervisor is gone");
  }
  // The next one is not blocked by the lock of a dead one.
  experiment.submit("0002-s", {"b"});
  CHECK(experiment.wait("0002-s").state == "COMPLETED");
}

TEST_CASE("lines of ranks stay whole, whatever bytes come between", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", R"(
    case $RANK in
      3) head -c 300000 /dev/urandom ;;
      2) printf 'no line break'; sleep 0.5; printf ' at all' ;;
      *) for ((n = 0; n < 2000; n++)); do printf 'line %d of ' $n; echo "rank $RANK"; done ;;
    esac
    finish)",
                                      4);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").state == "COMPLETED");
  std::map<std::string, int> next;
  bool unbroken = false;
  std::size_t rubbish = 0;
  for (const auto& line : test::lines(run / "attempts/1/stdout.log")) {
    if (line == "2: no line break at all") unbroken = true;
    if (line.starts_with("3: ")) rubbish += line.size() - 2;  // its line break replaces its prefix
    for (const std::string rank : {"0", "1"})
      if (line == rank + ": line " + std::to_string(next[rank]) + " of rank " + rank) ++next[rank];
  }
  CHECK(next["0"] == 2000);
  CHECK(next["1"] == 2000);
  CHECK(unbroken);
  CHECK(rubbish >= 300000);
}
