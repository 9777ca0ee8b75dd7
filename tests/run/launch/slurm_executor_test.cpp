#include "core/run/launch/slurm/slurm_executor.h"

#include "tests/place.h"
#include "tests/run/launch/fake_shell.h"
#include "tests/test.h"

namespace {

using namespace orch;
using launch::SlurmExecutor;
using launch::SubmitRequest;
using SubmitReply = launch::SubmitOutcome::Reply;
using record::JobFact;
using record::Submission;

const Output kNoAccounting{1, "", "Slurm accounting storage is disabled\n"};
const Output kDown{1, "",
                   "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"};

Submission make(const std::string& id, std::size_t runs, bool array, const std::string& job) {
  Submission submission;
  submission.id = id;
  submission.array = array;
  submission.runs.assign(runs, "run");
  submission.job = job;
  submission.time = 1'800'000'000;
  return submission;
}

// A line of squeue.
std::string queued(const std::string& job, const std::string& task, const std::string& state,
                   const std::string& comment) {
  return fmt::format("{}|{}|{}|0|0|1000|2000|0:10|n1|1|None|cpu=1|N/A|{}\n", job, task, state,
                     comment);
}

// A line of sacct, with 4 GPUs for half an hour.
std::string stored(const std::string& id, const std::string& state, const std::string& submit,
                   int start = 1000) {
  const std::string fields[] = {id,     state,  "0:0",        std::to_string(start),
                                "3000", "1800", "gres/gpu=4", "n1",
                                "None", "name", "",           submit};
  std::string text;
  for (const auto& field : fields) text += (text.empty() ? "" : "\x1f") + field;
  return text + "\n";
}

struct SlurmBench {
  FakeShell shell;
  FakeClock clock;
  SlurmExecutor executor{shell, clock};

  record::JobFacts poll(const std::vector<const Submission*>& of) {
    auto facts = executor.poll(of);
    REQUIRE(facts);
    return *facts;
  }
  std::size_t accounting_calls() const { return shell.count("sacct"); }
};

}  // namespace

TEST_CASE("sbatch gets the whole request, in words", "[launch][slurm]") {
  SlurmBench bench;
  const TestFolder folder;
  bench.shell.always("sbatch", {0, "123;north\n", ""});
  auto submission = make("0007-ab", 200, true, "");
  SubmitRequest request{&submission, folder.root(), "/a b/array.sbatch",
                        "/runs/x",   "sweep",       "slurm-%A_%a.log",
                        "77",        {"n1", "n2"},  8,
                        5,           "78:79",       30};
  const auto reply = bench.executor.submit(request);
  CHECK(reply.reply == SubmitReply::accepted);
  CHECK(reply.job == "123");
  const auto& command = bench.shell.commands.at(0);
  CHECK(command.argv == std::vector<std::string>{"sbatch", "--parsable", "--comment=orch:0007-ab",
                                                 "--job-name=sweep", "--output=slurm-%A_%a.log",
                                                 "--export=ALL,ORCH_SUBMISSION=0007-ab",
                                                 "--array=0-199%8", "--time=30",
                                                 "--dependency=afterok:77,afterany:78:79",
                                                 "--exclude=n1,n2", "/a b/array.sbatch"});
  CHECK(command.directory == "/runs/x");
  CHECK(command.output == folder.root() / "answer");
  CHECK(command.hold == 5);
  CHECK_FALSE(command.parsed);  // its environment becomes the job's

  submission = make("0008-ab", 1, false, "");
  request = {&submission, folder.root(), "/s", "/runs/x", "one", "/dev/null", "", {}, 0, -1, "", 0};
  CHECK(bench.executor.test(request));
  CHECK(bench.shell.commands.at(1).argv ==
        std::vector<std::string>{"sbatch", "--test-only", "--comment=orch:0008-ab",
                                 "--job-name=one", "--output=/dev/null",
                                 "--export=ALL,ORCH_SUBMISSION=0008-ab", "/s"});
  CHECK(bench.shell.commands.at(1).output.empty());
}

TEST_CASE("an answer that is lost is unclear; sbatch that cannot run took nothing",
          "[launch][slurm]") {
  SlurmBench bench;
  const TestFolder folder;
  auto submission = make("0007-ab", 1, false, "");
  SubmitRequest request{
      &submission, folder.root(), "/s", "/runs/x", "one", "/dev/null", "", {}, 0, -1, "", 0};
  CHECK(bench.executor.submit(request).reply == SubmitReply::unreachable);
  bench.shell.once("sbatch", {0, "", ""});
  CHECK(bench.executor.submit(request).reply == SubmitReply::unclear);
  bench.shell.once("sbatch", {1, "", "sbatch: error: Unable to open file /s\n"});
  CHECK(bench.executor.submit(request).reply == SubmitReply::refused);
  bench.shell.once("sbatch", {1, "", "allocation failure: Invalid feature specification\n"});
  const auto refused = bench.executor.test(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error()[0].fact == "Invalid feature specification");
}

TEST_CASE("one squeue call tells of all submissions, by comment", "[launch][slurm]") {
  SlurmBench bench;
  bench.shell.always("sacct", kNoAccounting);
  const auto array = make("0001-aa", 3, true, "10");
  const auto single = make("0002-bb", 1, false, "20");
  const auto unknown_id = make("0003-cc", 1, false, "");
  const auto reused = make("0004-dd", 1, false, "40");
  const auto cancelled = make("0005-ee", 2, true, "50");
  bench.shell.always("squeue", {0,
                                queued("10", "0", "RUNNING", "orch:0001-aa") +
                                    queued("10", "1", "PENDING", "orch:0001-aa") +
                                    queued("10", "9", "PENDING", "orch:0001-aa") +
                                    queued("20", "N/A", "COMPLETED", "orch:0002-bb") +
                                    queued("30", "N/A", "RUNNING", "orch:0003-cc") +
                                    queued("40", "N/A", "RUNNING", "someone else's") +
                                    queued("41", "N/A", "RUNNING", "orch:0004-dd") +
                                    queued("50", "N/A", "CANCELLED", "orch:0005-ee"),
                                ""});
  const auto facts = bench.poll({&array, &single, &unknown_id, &reused, &cancelled});
  CHECK(facts.size() == 6);
  CHECK(facts.at({"0001-aa", 0}).state == "RUNNING");
  CHECK(facts.at({"0001-aa", 1}).job == "10_1");
  CHECK(facts.at({"0002-bb", 0}).state == "COMPLETED");
  CHECK(facts.at({"0003-cc", 0}).job == "30");
  CHECK_FALSE(facts.contains({"0004-dd", 0}));
  // An array that was cancelled before its first task.
  CHECK(facts.at({"0005-ee", 1}).job == "50_1");
  CHECK(bench.shell.count("squeue") == 1);
  CHECK(bench.accounting_calls() == 1);

  bench.poll({&array, &single});
  CHECK(bench.accounting_calls() == 1);  // there is no accounting: not asked again
}

TEST_CASE("the end of a task is asked of accounting once, and kept", "[launch][slurm]") {
  SlurmBench bench;
  const auto array = make("0001-aa", 2, true, "10");
  bench.shell.once("squeue", {0,
                              queued("10", "0", "COMPLETED", "orch:0001-aa") +
                                  queued("10", "1", "RUNNING", "orch:0001-aa"),
                              ""});
  bench.shell.always("squeue", {0, "", ""});
  const auto line = "sbatch --parsable --comment=orch:0001-aa x";
  bench.shell.once("sacct",
                   {0,
                    stored("10_0", "NODE_FAIL", line, 500) + stored("10_0", "COMPLETED", line) +
                        stored("10_0.0", "OUT_OF_MEMORY", "srun") + stored("10_1", "RUNNING", line),
                    ""});
  auto facts = bench.poll({&array});
  CHECK(facts.at({"0001-aa", 0}).state == "COMPLETED");
  CHECK(facts.at({"0001-aa", 0}).gpu_hours == 4);  // of both starts
  CHECK(facts.at({"0001-aa", 0}).out_of_memory);
  CHECK(facts.at({"0001-aa", 1}).state == "RUNNING");

  bench.shell.once("sacct", {0, stored("10_1", "FAILED", line), ""});
  facts = bench.poll({&array});
  CHECK(facts.at({"0001-aa", 0}).gpu_hours == 4);
  CHECK(facts.at({"0001-aa", 1}).state == "FAILED");
  const auto& question = bench.shell.commands.back().argv;
  CHECK(std::ranges::find(question, "--jobs=10") != question.end());

  bench.clock.sleep(1000);
  CHECK(bench.poll({&array}).size() == 2);
  CHECK(bench.accounting_calls() == 2);
}

TEST_CASE("accounting that lags is asked again, ever less often, then given up",
          "[launch][slurm]") {
  SlurmBench bench;
  const auto ended = make("0001-aa", 1, false, "10");
  const auto purged = make("0002-bb", 1, false, "20");
  bench.shell.always("squeue", {0, queued("10", "N/A", "FAILED", "orch:0001-aa"), ""});
  bench.shell.always("sacct", {0,
                               stored("10", "RUNNING", "--comment=orch:0001-aa") +
                                   stored("20", "RUNNING", "--comment=orch:0002-bb"),
                               ""});
  for (int second = 0; second < 300; ++second) {
    const auto facts = bench.poll({&ended, &purged});
    CHECK(facts.at({"0001-aa", 0}).state == "FAILED");
    CHECK_FALSE(facts.contains({"0002-bb", 0}));  // squeue answered, so it is not running
    bench.clock.sleep(1);
  }
  CHECK(bench.accounting_calls() > 3);
  CHECK(bench.accounting_calls() < 12);
}

TEST_CASE("an earlier start of a job is not taken for its end", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.always("squeue", {0, queued("10", "N/A", "COMPLETED", "orch:0001-aa"), ""});
  bench.shell.once("sacct", {0, stored("10", "PREEMPTED", "--comment=orch:0001-aa", 500), ""});
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).state == "COMPLETED");
  bench.clock.sleep(10);
  bench.shell.once("sacct", {0,
                             stored("10", "PREEMPTED", "--comment=orch:0001-aa", 500) +
                                 stored("10", "COMPLETED", "--comment=orch:0001-aa", 1000),
                             ""});
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).gpu_hours == 4);
}

TEST_CASE("a job id that was given out again is not ours in accounting either", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.always("squeue", {0, "", ""});
  bench.shell.always("sacct", {0, stored("10", "COMPLETED", "sbatch --comment=orch:0009-zz"), ""});
  CHECK(bench.poll({&single}).empty());
}

TEST_CASE("a job that someone put back runs again", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.once("squeue", {0, queued("10", "N/A", "FAILED", "orch:0001-aa"), ""});
  bench.shell.always("sacct", {0, stored("10", "FAILED", "--comment=orch:0001-aa"), ""});
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).state == "FAILED");
  bench.shell.once("squeue", {0, queued("10", "N/A", "PENDING", "orch:0001-aa"), ""});
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).state == "PENDING");
}

TEST_CASE("a database that is down is left alone for a while", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.always("squeue", {0, queued("10", "N/A", "FAILED", "orch:0001-aa"), ""});
  bench.shell.once("sacct", {1, "", "sacct: error: Problem talking to the database\n"});
  bench.shell.always("sacct", {0, stored("10", "TIMEOUT", "--comment=orch:0001-aa"), ""});
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).state == "FAILED");
  bench.clock.sleep(10);
  bench.poll({&single});
  CHECK(bench.accounting_calls() == 1);
  bench.clock.sleep(60);
  CHECK(bench.poll({&single}).at({"0001-aa", 0}).state == "TIMEOUT");
}

TEST_CASE("a SLURM that stores no command lines is asked without them", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.always("squeue", {0, "", ""});
  bench.shell.once("sacct", {1, "", "sacct: error: Invalid field requested: \"SubmitLine\"\n"});
  bench.shell.always("sacct", {0, stored("10", "COMPLETED", "a name with 0001-aa"), ""});
  CHECK(bench.poll({&single}).size() == 1);
  CHECK(bench.shell.commands.at(1).argv.at(5).ends_with(",SubmitLine"));
  CHECK(bench.shell.commands.at(2).argv.at(5).ends_with(",JobName"));
}

TEST_CASE("a controller that does not answer is an error, not an empty queue", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "10");
  bench.shell.always("squeue", kDown);
  CHECK_FALSE(bench.executor.poll({&single}));
  CHECK_FALSE(bench.executor.find(single));
  bench.shell.always("squeue", {143, "", "", true});
  CHECK_FALSE(bench.executor.poll({&single}));
  bench.shell.always("squeue",
                     {0, "\n\n", "squeue: error: Invalid job format specification: Comment\n"});
  CHECK_FALSE(bench.executor.poll({&single}));
}

TEST_CASE("a lost answer is found by comment, now or a moment later", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "");
  bench.shell.once("squeue", {0, queued("9", "N/A", "RUNNING", "orch:0001-aab"), ""});
  bench.shell.once("squeue", {0, queued("10", "N/A", "RUNNING", "orch:0001-aa"), ""});
  CHECK(*bench.executor.find(single) == "10");
  CHECK(bench.accounting_calls() == 0);
}

TEST_CASE("or in accounting, where the controller has forgotten it", "[launch][slurm]") {
  SlurmBench bench;
  const auto single = make("0001-aa", 1, false, "");
  bench.shell.always("squeue", {0, "", ""});
  bench.shell.once("sacct", {0, stored("10_0", "COMPLETED", "sbatch --comment=orch:0001-aa"), ""});
  CHECK(*bench.executor.find(single) == "10");
  bench.shell.once("sacct", {0, stored("10", "COMPLETED", "sbatch --comment=orch:0002-bb"), ""});
  CHECK(*bench.executor.find(single) == std::nullopt);
  // While the database does not answer, the state is unknown.
  bench.shell.once("sacct", {1, "", "sacct: error: Unable to connect to database\n"});
  CHECK_FALSE(bench.executor.find(single));
  bench.shell.always("sacct", kNoAccounting);
  CHECK(*bench.executor.find(single) == std::nullopt);
}

TEST_CASE("many tasks are cancelled in a few calls, ended ones in none", "[launch][slurm]") {
  SlurmBench bench;
  bench.shell.always("scancel", {1, "",
                                 "scancel: error: Kill job error on job id 7: Invalid job id "
                                 "specified\n"});
  std::vector<JobFact> tasks(2500);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].job = fmt::format("10_{}", i);
    tasks[i].state = "PENDING";
  }
  JobFact ended;
  ended.state = "COMPLETED";
  ended.job = "11";
  tasks.push_back(ended);
  CHECK(bench.executor.cancel(tasks));
  REQUIRE(bench.shell.commands.size() == 3);
  CHECK(bench.shell.commands[0].argv.size() == 1001);
  CHECK(bench.shell.commands[2].argv.back() == "10_2499");
  bench.shell.always("scancel", {8, "",
                                 "scancel: error: Kill job error on job id 10: Unable to contact "
                                 "slurm controller (connect failure)\n"});
  CHECK_FALSE(bench.executor.cancel(tasks));
  CHECK(bench.executor.cancel({}));
}

TEST_CASE("arrays are as large as the cluster takes them, and a script can hold",
          "[launch][slurm]") {
  SlurmBench bench;
  CHECK(bench.executor.largest_array() == 1000);  // no answer
  bench.shell.always("scontrol", {0, "MaxArraySize = 301\nMaxJobCount = 10000\n", ""});
  CHECK(bench.executor.largest_array() == 301);
  const auto asked = bench.shell.commands.size();
  CHECK(bench.executor.largest_array() == 301);
  CHECK(bench.shell.commands.size() == asked);
  SlurmExecutor other(bench.shell, bench.clock);
  bench.shell.always("scontrol", {0, "MaxArraySize = 4000001\n", ""});
  CHECK(other.largest_array() == 2000);
}

TEST_CASE("five thousand tasks in one answer", "[launch][slurm]") {
  SlurmBench bench;
  bench.shell.always("sacct", kNoAccounting);
  std::vector<Submission> submissions;
  std::vector<const Submission*> of;
  std::string answer;
  for (int array = 0; array < 5; ++array) {
    const auto id = fmt::format("{:04}-0123456789abcdef", array);
    submissions.push_back(make(id, 1000, true, std::to_string(100 + array)));
    for (int task = 0; task < 1000; ++task)
      answer += queued(std::to_string(100 + array), std::to_string(task),
                       task % 3 == 0 ? "COMPLETED" : "RUNNING", "orch:" + id);
  }
  for (const auto& submission : submissions) of.push_back(&submission);
  bench.shell.always("squeue", {0, answer, ""});
  const auto facts = bench.poll(of);
  CHECK(facts.size() == 5000);
  CHECK(facts.at({"0004-0123456789abcdef", 999}).job == "104_999");
  CHECK(bench.shell.count("squeue") == 1);
}
