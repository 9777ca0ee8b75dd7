#include "fakes.h"

namespace orch::follow {
namespace {

using record::Failure;
using record::RunState;

TEST_CASE("a trainer that leaves with 0 is finished once its events have all the steps") {
  for (const int steps : {9, 10}) {  // of 10
    One one;
    one.slurm_says("FAILED");
    one.script_says(1, "left");
    one.place.write(one.run + "/attempts/1/events.jsonl",
                    fmt::format("{{\"event\":\"step\",\"step\":{}}}\n", steps));
    one.look();
    CHECK(one.view().settled);
    CHECK(one.campaign.due().empty());
    CHECK(one.view().record.state == (steps == 10 ? RunState::finished : RunState::failed));
    if (steps == 9)
      CHECK(one.view().record.reason.starts_with("exited with code 0 after 9 of 10 steps"));
  }
}

TEST_CASE("where a program writes no events, its log is the witness") {
  One one;
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  record::TrainingProgress progress;
  progress.measured.steps = 4;
  progress.measured.step_seconds = statistics::Interval{2, {}, {}, 1};
  progress.age = 30;
  one.place.log = progress;
  one.look();
  CHECK(one.view().record.failure == Failure::none);
  CHECK(one.view().record.measured.steps == 4);
  one.place.log->age = 1e6;
  one.look();
  CHECK(one.view().record.failure == Failure::hang);
  CHECK(one.view().record.reason.ends_with("since step 4"));

  one.slurm_says("FAILED");
  one.script_says(1, "left");
  one.place.log->measured.steps = 10;
  one.look();
  CHECK(one.view().record.state == RunState::finished);
}

TEST_CASE("events count before a log") {
  One one;
  one.slurm_says("FAILED");
  one.script_says(1, "left");
  one.place.write(one.run + "/attempts/1/events.jsonl", "{\"event\":\"step\",\"step\":9}\n");
  record::TrainingProgress progress;
  progress.measured.steps = 10;
  one.place.log = progress;
  one.look();
  CHECK(one.view().record.state == RunState::failed);
}

TEST_CASE("a run failed of what its attempt confesses") {
  One one;
  one.slurm_says("FAILED");
  one.script_says(1, "failed");
  one.place.log_says = {record::Failure::nan, "loss is NaN from step 7 on"};
  one.look();
  CHECK(one.view().record.failure == Failure::nan);
  CHECK(one.view().record.reason == "loss is NaN from step 7 on");
}

TEST_CASE("a run goes from pending to running to finished, and its hours are counted") {
  One one;
  CHECK(one.view().record.state == RunState::pending);
  CHECK(one.view().record.reason == "waiting for free nodes");
  CHECK_THAT(one.campaign.gpu_hours_committed(), WithinRel(10.0));  // 10 steps of 900 s on 4 GPUs
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.look();
  CHECK(one.view().record.state == RunState::running);
  one.script_says(1, "finished");
  one.slurm_says("COMPLETED");
  one.look();
  CHECK(one.view().record.state == RunState::finished);
  CHECK(one.view().settled);
  CHECK_THAT(one.campaign.gpu_hours_used(), WithinRel(4.0));  // an hour on 4 GPUs
  CHECK(one.campaign.gpu_hours_committed() == 0);
}

TEST_CASE("what ended is known to the next orch without asking anyone") {
  One one;
  one.script_says(1, "finished");
  one.slurm_says("COMPLETED");
  one.look();
  auto later = one.place.opened();
  CHECK(later.runs()[0].settled);
  CHECK(later.runs()[0].record.state == RunState::finished);
  const auto polls = one.place.slurm.polls;
  later.refresh();
  CHECK(one.place.slurm.polls == polls);
}

TEST_CASE("without an index the folders tell the same") {
  One one;
  one.script_says(1, "failed");
  one.slurm_says("FAILED");
  one.look();
  fs::remove(one.place.root() / "index.jsonl");
  auto later = one.place.opened();
  CHECK(later.runs()[0].settled);
  CHECK(later.runs()[0].record.failure == Failure::bad_exit);
}

TEST_CASE("a job without a trace is lost only after a while, and then due") {
  One one;
  one.gone();
  one.look();
  CHECK(one.view().record.failure == Failure::lost);
  CHECK_FALSE(one.view().settled);
  CHECK(one.campaign.due().empty());
  one.place.clock.time += 59;
  one.look();
  CHECK(one.campaign.due().empty());
  // Its file arrives late.
  one.script_says(1, "finished");
  one.look();
  CHECK(one.view().record.state == RunState::finished);

  One other;
  other.gone();
  other.look();
  other.place.clock.time += 61;
  other.look();
  CHECK(other.view().settled);
  CHECK(other.campaign.due().size() == 1);
}

TEST_CASE("a look at what others did does not begin the wait for a lost job anew") {
  One one;
  one.gone();
  one.look();
  one.place.clock.time += 40;
  REQUIRE(one.campaign.begin(FileLock::Wait::yes));
  one.campaign.settle_lost();
  CHECK(one.campaign.due().size() == 1);
  CHECK(one.place.clock.time < 62);
}

TEST_CASE("an attempt of long ago, by hand, says nothing of the job of today") {
  FollowFolder place;
  const auto run = place.add_run(1);
  place.status(run, 1, "failed", "");  // in 2023; the clock says 2023 too, a day later
  place.clock.time = 86400;
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  CHECK(campaign.runs()[0].record.failure == Failure::bad_exit);
  REQUIRE(campaign.forget_failures({0}));
  Submitter submitter(campaign);
  REQUIRE(submitter.submit(campaign.due()));
  place.slurm.facts.clear();  // and SLURM forgot the job
  campaign.refresh();
  CHECK(campaign.runs()[0].record.failure == Failure::lost);
}

TEST_CASE("following survives a full disk and says it once") {
  One one;
  fs::create_directories(one.place.root() / "sweep" / one.run /
                         "state.json");  // makes writing impossible
  one.slurm_says("COMPLETED");
  one.script_says(1, "finished");
  CHECK(follow(one.campaign, {}));
  CHECK(one.view().record.state == RunState::finished);
  CHECK(std::count_if(one.place.said.begin(), one.place.said.end(), [](const auto& line) {
          return line.find("state.json") != std::string::npos;
        }) == 1);
}

TEST_CASE("a job with the number of an old one is not the old one") {
  One one;
  one.slurm_says("NODE_FAIL");
  one.script_says(1, "running");
  one.look();
  SubmitResult handed;
  one.place.slurm.next = 100;  // a controller reset: ids begin again
  REQUIRE(carry_on(one.campaign, FileLock::Wait::yes, {}, handed));
  REQUIRE(one.place.slurm.jobs.back().id == "100");
  one.slurm_says("RUNNING");
  auto later = one.place.campaign();
  REQUIRE(later.begin(FileLock::Wait::yes));
  CHECK(later.runs()[0].record.state == RunState::running);
  CHECK(later.due().empty());
}

TEST_CASE("a failed begin leaves the lock to others") {
  One one;
  one.place.forget_answers();
  one.place.slurm.silent = true;
  CHECK_FALSE(one.campaign.begin(FileLock::Wait::yes));
  one.place.slurm.silent = false;
  auto other = one.place.campaign();
  const auto begun = other.begin(FileLock::Wait::no);
  REQUIRE(begun);
  CHECK(*begun);
}

TEST_CASE("what another orch submitted meanwhile is seen") {
  One one;
  one.slurm_says("NODE_FAIL");
  one.script_says(1, "running");
  one.look();
  auto watching = one.place.opened();
  CHECK(watching.runs()[0].settled);
  SubmitResult handed;
  REQUIRE(carry_on(one.campaign, FileLock::Wait::yes, {}, handed));
  watching.refresh();
  CHECK(watching.runs()[0].record.state == RunState::pending);
}

TEST_CASE("what another orch is just submitting is followed once it is answered") {
  One one;
  const auto submitted = one.campaign.ledger().all()[0];
  one.place.forget_answers();
  auto watching = one.place.opened();
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  watching.refresh();
  CHECK(watching.runs()[0].record.state == RunState::pending);
  REQUIRE(store::note_job(submitted.folder, submitted.submission.job));
  watching.refresh();
  CHECK(watching.runs()[0].record.state == RunState::running);
}

TEST_CASE("the last answer of a scheduler is older than this process") {
  One one;
  auto later = one.place.opened();
  one.place.clock.time += 3600;
  one.place.slurm.silent = true;
  later.refresh();
  CHECK(later.silent_seconds() == 3600);  // since the submission
  one.place.slurm.silent = false;
  one.slurm_says("RUNNING");
  later.refresh();
  CHECK(later.silent_seconds() == 0);
  one.place.clock.time += 60;
  one.place.slurm.silent = true;
  later.refresh();
  CHECK(later.silent_seconds() == 60);
}

TEST_CASE("a scheduler is silent for as long as it is, whoever else answers") {
  FollowFolder place;
  FakeExecutor local;
  local.called = "local";
  auto world = place.world();
  world.local = &local;
  place.add_run(1);
  place.add_run(2, 0);  // without a job script: on this machine
  Campaign campaign(place.root(), "sweep", world, {});
  place.submit_all(campaign);
  REQUIRE(place.slurm.jobs.size() == 1);
  REQUIRE(local.jobs.size() == 1);
  place.slurm.silent = true;
  for (int minute = 1; minute <= 3; ++minute) {
    place.clock.time += 60;
    campaign.refresh();
    CHECK(campaign.silent_seconds() == 60 * minute);
  }
}

TEST_CASE("a silent scheduler changes nothing") {
  One one;
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.look();
  one.place.slurm.silent = true;
  one.look();
  CHECK(one.view().record.state == RunState::running);
  CHECK(one.campaign.silent_since());
  one.place.slurm.silent = false;
  one.look();
  CHECK_FALSE(one.campaign.silent_since());
}

TEST_CASE("the phases of a ramp-up make one run") {
  FollowFolder place;
  const auto run = place.add_run(1, 2);
  auto campaign = place.campaign();
  place.submit_all(campaign);
  const auto first = campaign.ledger().all()[0].submission.id;
  const auto second = campaign.ledger().all()[1].submission.id;
  place.status(run, 1, "finished", first, 1);
  place.slurm.facts[{first, 0}] = FakeExecutor::fact("COMPLETED", "", "100");
  campaign.refresh();
  CHECK(campaign.runs()[0].record.state == RunState::pending);
  CHECK(campaign.runs()[0].phase == 2);
  // The second fails permanently: only it is submitted again.
  place.slurm.facts[{second, 0}] = FakeExecutor::fact("NODE_FAIL", "", "101");
  place.status(run, 2, "running", second, 2);
  SubmitResult handed;
  campaign.refresh();
  REQUIRE(carry_on(campaign, FileLock::Wait::yes, {}, handed));
  REQUIRE(place.slurm.jobs.size() == 3);
  CHECK(place.slurm.jobs[2].phase == 2);
  CHECK(place.slurm.jobs[2].after.empty());
  place.status(run, 3, "finished", campaign.ledger().all()[2].submission.id, 2);
  campaign.refresh();
  CHECK(campaign.runs()[0].record.state == RunState::finished);
}

TEST_CASE("when the first phase fails, all phases are submitted anew") {
  FollowFolder place;
  const auto run = place.add_run(1, 3);
  auto campaign = place.campaign();
  place.submit_all(campaign);
  const auto first = campaign.ledger().all()[0].submission.id;
  place.slurm.facts[{first, 0}] = FakeExecutor::fact("NODE_FAIL", "", "100");
  campaign.refresh();
  SubmitResult handed;
  REQUIRE(carry_on(campaign, FileLock::Wait::yes, {}, handed));
  CHECK(place.slurm.jobs.size() == 6);
  CHECK(place.slurm.cancelled == std::vector<std::string>{"101", "102"});  // they waited in vain
  CHECK(place.slurm.jobs[4].after == place.slurm.jobs[3].id);
}

TEST_CASE("following ends when every run has ended") {
  One one;
  int looks = 0;
  one.place.clock.on_sleep = [&] {
    if (one.place.clock.time > 5) {
      one.slurm_says("RUNNING");
      one.script_says(1, "running");
    }
    if (one.place.clock.time > 20) {
      one.slurm_says("COMPLETED");
      one.script_says(1, "finished");
    }
  };
  FollowOptions options;
  options.drawn = [&](const Campaign&) { ++looks; };
  CHECK(follow(one.campaign, options));
  CHECK(looks >= 3);
  CHECK(one.view().record.state == RunState::finished);
}

TEST_CASE("a scheduler that does not answer is told once, and asked again before long") {
  One one;
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.place.slurm.silent = true;
  one.place.slurm.on_poll = [&] {
    auto& time = one.place.clock.time;
    time += one.place.slurm.silent ? 60 : 0;  // it waits in vain as long as it may
    if (time < 1000) return;
    one.place.slurm.silent = false;
    one.slurm_says("COMPLETED");
    one.script_says(1, "finished");
  };
  CHECK(follow(one.campaign, {}));
  CHECK(one.view().record.state == RunState::finished);
  CHECK(one.place.clock.time < 1100);
  CHECK(one.place.said ==
        std::vector<std::string>{"the scheduler does not answer", "the scheduler answers again"});
}

TEST_CASE("Ctrl-C leaves and ends nothing") {
  One one;
  one.place.clock.on_sleep = [&] { one.place.interrupted = true; };
  CHECK_FALSE(follow(one.campaign, {}));
  CHECK(one.place.slurm.cancelled.empty());
}

TEST_CASE("a damaged run folder is told, and does not hide the others") {
  FollowFolder place;
  place.add_run(1);
  place.write("gpt-ddp-0000beef/run.json", "{ not JSON");
  auto campaign = place.opened();
  const auto troubles = campaign.take_troubles();
  REQUIRE(troubles.size() == 1);
  CHECK(troubles.front().place.find("0000beef") != std::string::npos);
  CHECK(campaign.take_troubles().empty());
  CHECK(campaign.runs().size() == 1);
}

}  // namespace
}  // namespace orch::follow
