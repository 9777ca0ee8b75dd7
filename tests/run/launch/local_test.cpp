#include <fcntl.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "core/base/lock.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_tasks.h"
#include "core/run/launch/local/supervisor.h"
#include "tests/place.h"
#include "tests/run/launch/local_fixture.h"
#include "tests/test.h"

using namespace orch;
using test::eventually;
using test::LocalExperiment;
using test::slurp;
using SubmitReply = launch::SubmitOutcome::Reply;

namespace {

nlohmann::json status_of(const fs::path& run, int attempt = 1) {
  return nlohmann::json::parse(slurp(run / "attempts" / std::to_string(attempt) / "status.json"));
}

}  // namespace

TEST_CASE("a local run finishes, and its folder tells the same as a job's", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "finish", 3);
  const auto submitted = experiment.submit("0001-s", {"a"});
  REQUIRE(submitted.reply == SubmitReply::accepted);
  const auto fact = experiment.wait("0001-s");
  CHECK(fact.state == "COMPLETED");
  CHECK(fact.exit_code == 0);
  CHECK(fact.job == submitted.job);
  CHECK(fact.end >= fact.start);
  CHECK(fact.start > 1.7e9);

  const auto status = status_of(run);
  CHECK(status["version"] == 1);
  CHECK(status["state"] == "finished");
  CHECK(status["job_id"] == submitted.job);
  CHECK(status["submission"] == "0001-s");
  CHECK(status["gpus"] == 3);
  CHECK(status["exit_code"] == 0);
  CHECK(status["signal"].is_null());
  CHECK(status["nodes"].size() == 1);
  CHECK(status["bad_nodes"].empty());
  CHECK(status["phase"] == 1);
  CHECK(status["phases"] == 1);
  CHECK(status["restart_count"] == 0);
  CHECK(status["start"].get<std::string>().ends_with("Z"));
  CHECK(status["end"].get<std::string>() >= status["start"].get<std::string>());
  CHECK(fs::is_directory(run / "attempts/1/flight"));
}

TEST_CASE("local ranks learn what a trainer must know", "[launch][local]") {
  LocalExperiment experiment;
  ::setenv("SLURM_PROCID", "7", 1);
  LocalExperiment::Job job;
  job.ranks = 2;
  job.rampup = R"({"start": 16, "step": 16, "samples": 100, "fewer_nodes": true})";
  const auto run = experiment.add_run("a", "finish", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").state == "COMPLETED");
  ::unsetenv("SLURM_PROCID");

  const auto cores = launch::usable_cores().size();
  const auto threads = std::to_string(std::max<std::size_t>(1, cores / 2));
  std::string port;
  for (const std::string rank : {"0", "1"}) {
    std::istringstream words(slurp(run / "attempts/1" / ("rank." + rank)));
    std::vector<std::string> seen;
    for (std::string word; words >> word;) seen.push_back(word);
    REQUIRE(seen.size() == 12);
    if (port.empty()) port = seen[4];
    CHECK(seen == std::vector<std::string>{rank, rank, "2", "127.0.0.1", port, threads, "0001-s",
                                           "1/1", "16-64", "1024", "2", "none"});
  }
  CHECK(std::stoi(port) >= 20000);
  CHECK(std::stoi(port) < 30000);
}

TEST_CASE("local ranks get cores of their own where there are enough", "[launch][local]") {
  LocalExperiment experiment;
  const auto cores = launch::usable_cores();
  const int ranks = static_cast<int>(cores.size());
  const auto run = experiment.add_run(
      "a", "grep Cpus_allowed_list /proc/self/status >\"$attempt/cores.$RANK\"; finish", ranks);
  experiment.add_run(
      "b", "grep Cpus_allowed_list /proc/self/status >\"$attempt/cores.$RANK\"; finish", ranks + 1);
  experiment.submit("0001-s", {"a", "b"});
  CHECK(experiment.wait("0001-s", 1).state == "COMPLETED");
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(slurp(run / "attempts/1" / ("cores." + std::to_string(rank))) ==
          "Cpus_allowed_list:\t" + std::to_string(cores[static_cast<std::size_t>(rank)]) + "\n");
  // With one rank too many, no rank is bound.
  const auto all = slurp(experiment.folder() / "b/attempts/1/cores.0");
  CHECK(slurp(experiment.folder() / "b/attempts/1" / ("cores." + std::to_string(ranks))) == all);
}

TEST_CASE("the site's set-up and the run's own trainer are used", "[launch][local]") {
  LocalExperiment experiment;
  const auto other = experiment.folder() / "my trainer";
  std::ofstream(other) << "#!/bin/bash\necho \"mine: $FROM_SETUP $FROM_JOB\"\n: >\"$4/finished\"\n";
  fs::permissions(other, fs::perms::owner_all);
  LocalExperiment::Job job;
  job.setup = "export FROM_SETUP=module";
  job.environment = R"({"FROM_JOB": "x y"})";
  job.trainer = other;
  const auto run = experiment.add_run("a", "", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").state == "COMPLETED");
  CHECK(slurp(run / "attempts/1/stdout.log").find("\n0: mine: module x y\n") != std::string::npos);
}

TEST_CASE("a run whose trainer is not there fails and says so", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.trainer = "/nowhere/trainer";
  const auto run = experiment.add_run("a", "", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").state == "FAILED");
  CHECK(status_of(run)["message"].get<std::string>().find("no such program: /nowhere/trainer") ==
        0);

  record::Submission submission;
  submission.runs = {"a"};
  launch::SubmitRequest request;
  request.submission = &submission;
  const auto tested = experiment.executor().test(request);
  REQUIRE_FALSE(tested);
  CHECK(tested.error().front().fact == "no such program: /nowhere/trainer");
}

TEST_CASE("a local run needs its data and its first weights", "[launch][local]") {
  launch::LocalRun local;
  auto& run = local.run;
  run.strategy = std::make_shared<plan::Strategy>();
  run.trainer = "/bin/sh";
  CHECK(launch::check_local_run(local, "/nowhere").empty());
  const TestFolder place;
  const auto& folder = place.root();
  std::ofstream(folder / "half.idx") << "x";
  local.folder = folder / "runs/x/a";
  run.paths_from = "../../..";
  run.training.data = "half";
  run.training.init = folder / "none";
  const auto errors = launch::check_local_run(local, "/nowhere");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].fact == "no such file: " + (folder / "half.bin").string());
  CHECK(errors[1].fact == "no such checkpoint: " + (folder / "none").string());
  std::ofstream(folder / "half.bin") << "x";
  run.training.init = folder;
  CHECK(launch::check_local_run(local, "/nowhere").empty());
}

TEST_CASE("a node that fails the site's check does not train", "[launch][local]") {
  LocalExperiment experiment;
  LocalExperiment::Job job;
  job.environment = R"({"ORCH_NODE_CHECK": "echo the fan is loud; exit 1"})";
  const auto run = experiment.add_run("a", "touch \"$attempt/trained\"", job);
  experiment.submit("0001-s", {"a"});
  CHECK(experiment.wait("0001-s").exit_code == 69);
  CHECK(status_of(run)["state"] == "bad_nodes");
  CHECK(status_of(run)["bad_nodes"].size() == 1);
  CHECK_FALSE(fs::exists(run / "attempts/1/trained"));
  CHECK(slurp(run / "attempts/1/nodes.log") == "0: the fan is loud\n");
}

TEST_CASE("runs of a submission go one after the other", "[launch][local]") {
  LocalExperiment experiment;
  experiment.add_run("a", "[ -e ../b/attempts ] && exit 5; finish");
  experiment.add_run("b", "[ -e ../a/attempts/1/status.json ] || exit 5; exit 3");
  experiment.add_run("c", "finish");
  const auto submitted = experiment.submit("0001-s", {"a", "b", "c"});
  CHECK(experiment.wait("0001-s", 2).state == "COMPLETED");
  CHECK(experiment.poll("0001-s", 0).state == "COMPLETED");
  CHECK(experiment.poll("0001-s", 1).state == "FAILED");
  CHECK(experiment.poll("0001-s", 1).exit_code == 3);
  CHECK(experiment.poll("0001-s", 1).job == submitted.job + "_1");
}

TEST_CASE("two supervisors wait for each other", "[launch][local]") {
  LocalExperiment experiment;
  const auto first = experiment.add_run("a", "train");
  experiment.add_run("b", "finish");
  const auto one = experiment.submit("0001-s", {"a"});
  experiment.wait_for("0001-s", 0, "RUNNING");
  experiment.submit("0002-s", {"b"});
  const auto pid = one.job.substr(0, one.job.find('.'));
  const auto expected = "another local run is going on (" + pid + ")";
  CHECK(eventually([&] { return experiment.poll("0002-s").reason == expected; }));
  CHECK(experiment.poll("0002-s").state == "PENDING");
  CHECK_FALSE(fs::exists(experiment.folder() / "b/attempts"));
  REQUIRE(experiment.executor().cancel({experiment.poll("0001-s")}));
  CHECK(experiment.wait("0002-s").state == "COMPLETED");
  CHECK(status_of(first)["state"] == "cancelled");
}

TEST_CASE("the lock of who submits is free once the supervisor has answered", "[launch][local]") {
  LocalExperiment experiment;
  experiment.add_run("a", "train");
  const auto path = experiment.folder() / "lock";
  auto lock = FileLock::take(path, FileLock::Wait::no);
  REQUIRE(lock);
  REQUIRE(lock->held());
  experiment.submit("0001-s", {"a"}, lock->descriptor());
  *lock = FileLock();
  const auto again = FileLock::take(path, FileLock::Wait::no);
  REQUIRE(again);
  CHECK(again->held());
  CHECK(experiment.wait_for("0001-s", 0, "RUNNING").elapsed_seconds >= 0);
}

TEST_CASE("a submission has one supervisor only, and a lost answer is found", "[launch][local]") {
  LocalExperiment experiment;
  const auto run = experiment.add_run("a", "finish");
  const auto first = experiment.submit("0001-s", {"a"});
  experiment.wait("0001-s");
  // The first one's answer exists already: the second exits, and no run starts twice.
  CHECK(experiment.submit("0001-s", {"a"}).job == first.job);
  CHECK(
      slurp(experiment.submission("0001-s") / "supervisor.log").find("has a supervisor already") !=
      std::string::npos);
  CHECK_FALSE(fs::exists(run / "attempts/2"));

  record::Submission lost;
  lost.id = "0001-s";
  CHECK(*experiment.executor().find(lost) == first.job);
  lost.id = "0002-s";
  CHECK(*experiment.executor().find(lost) == std::nullopt);
}

TEST_CASE("a supervisor that cannot start is a refusal", "[launch][local]") {
  LocalExperiment experiment;
  SystemClock clock;
  launch::LocalOptions options;
  options.experiment_folder = experiment.folder();
  record::Submission submission;
  launch::SubmitRequest request;
  request.submission = &submission;
  request.folder = experiment.submission("0001-s");
  fs::create_directories(request.folder);
  SECTION("no such program") {
    options.supervisor = {"/nowhere/orch"};
    const auto submitted = launch::LocalExecutor(options, clock).submit(request);
    CHECK(submitted.reply == SubmitReply::refused);
    CHECK(submitted.message == "cannot start /nowhere/orch: No such file or directory");
  }
  SECTION("one that leaves no message") {
    options.supervisor = {"/bin/sh", "-c", "echo what now >&2; exit 1"};
    const auto submitted = launch::LocalExecutor(options, clock).submit(request);
    CHECK(submitted.reply == SubmitReply::refused);
    CHECK(submitted.message == "the supervisor exited: what now");
  }
  SECTION("one that says nothing for too long is unclear") {
    options.supervisor = {"/bin/sh", "-c", "sleep 20"};
    options.answer_seconds = 0.2;
    const auto submitted = launch::LocalExecutor(options, clock).submit(request);
    CHECK(submitted.reply == SubmitReply::unclear);
  }
}

TEST_CASE("a pid that was given to another process is not the supervisor", "[launch][local]") {
  const auto own = launch::own_supervisor_id();
  CHECK(launch::is_alive(own));
  CHECK_FALSE(launch::is_alive({own.pid, own.start + 1}));

  LocalExperiment experiment;
  experiment.add_run("a", "finish");
  experiment.submit("0001-s", {"a"});
  experiment.wait("0001-s");
  const auto folder = experiment.submission("0001-s");
  fs::remove(folder / "task.0.json");
  std::ofstream(folder / "answer") << own.pid << "." << own.start + 1 << "\n";
  CHECK(experiment.poll("0001-s").state == "NODE_FAIL");
  std::ofstream(folder / "answer") << launch::text(own) << "\n";
  CHECK(experiment.poll("0001-s").state == "PENDING");
  std::ofstream(folder / "answer") << "rubbish\n";
  CHECK(experiment.poll("0001-s").state.empty());
  std::ofstream(folder / "answer") << launch::text(own) << "\n";
  std::ofstream(folder / "task.0.json") << "{\"state\": [\n";
  CHECK(experiment.poll("0001-s").state == "PENDING");
}

TEST_CASE("hostile folder names are names", "[launch][local]") {
  LocalExperiment experiment("a b'\"$(touch pwned)`%j\\\n\xff");
  const auto run =
      experiment.add_run("run-1", "printf '%s' \"$folder\" >\"$attempt/folder\"; finish");
  experiment.submit("0001-s", {"run-1"});
  CHECK(experiment.wait("0001-s").state == "COMPLETED");
  CHECK(slurp(run / "attempts/1/folder") == fs::canonical(run).string());
  CHECK(status_of(run)["state"] == "finished");
  CHECK(experiment.submit("0002-s", {"../run-1"}).reply == SubmitReply::refused);
  CHECK(experiment.submit("0003-s", {"-x"}).reply == SubmitReply::refused);
}

TEST_CASE("a lock is a file of its own, not a link to one", "[launch][local]") {
  const TestFolder place;
  const auto victim = place.file("victim", "precious");
  fs::create_symlink(victim, place.root() / "lock");
  fs::create_symlink(place.root() / "new", place.root() / "other");
  for (const auto* name : {"lock", "other"}) {
    const auto lock = FileLock::take(place.root() / name, FileLock::Wait::no);
    REQUIRE_FALSE(lock);
    CHECK(lock.error().front().fact == "is a link");
    CHECK_FALSE(lock.error().front().fix.empty());
  }
  CHECK_FALSE(fs::exists(place.root() / "new"));
}

TEST_CASE("the lock's folder must be ours alone", "[launch][local]") {
  LocalExperiment experiment;
  const auto folder = experiment.folder() / "locks";
  CHECK(*launch::lock_file_in(folder) == folder / "orch-local.lock");
  CHECK(launch::lock_file_in(folder));
  fs::permissions(folder, fs::perms::all);
  CHECK_FALSE(launch::lock_file_in(folder));
  fs::rename(folder, experiment.folder() / "elsewhere");
  fs::permissions(experiment.folder() / "elsewhere", fs::perms::owner_all);
  fs::create_symlink(experiment.folder() / "elsewhere", folder);
  CHECK_FALSE(launch::lock_file_in(folder));
  CHECK_FALSE(launch::lock_file_in(experiment.folder() / "no/such/folder"));
}
