#include "fakes.h"

namespace orch::follow {
namespace {

using record::Failure;
using record::RunState;

TEST_CASE("a transient failure is tried again so many times and no more") {
  FollowLimits options;
  options.retries = 2;
  One one(options);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    one.slurm_says("NODE_FAIL");
    one.script_says(attempt, "running");
    one.look();
    CHECK(one.view().record.failure == Failure::node);
    if (attempt == 3) break;
    REQUIRE(one.campaign.due().size() == 1);
    CHECK(one.carried_on() == 1);
    CHECK(one.view().record.state == RunState::pending);
  }
  CHECK(one.campaign.due().empty());
  CHECK(one.place.slurm.jobs.size() == 3);
  // After the user's retry all tries are available again.
  REQUIRE(one.campaign.begin(FileLock::Wait::yes));
  REQUIRE(one.campaign.forget_failures({0}));
  CHECK(one.campaign.due().size() == 1);
}

TEST_CASE("out of memory is not tried again") {
  One one;
  one.slurm_says("OUT_OF_MEMORY");
  one.script_says(1, "failed");
  one.look();
  CHECK(one.view().record.failure == Failure::host_memory);
  CHECK(one.campaign.due().empty());
}

TEST_CASE("a run that stopped with more to do goes on, as often as it saves") {
  FollowLimits options;
  options.retries = 0;
  One one(options);
  for (int attempt = 1; attempt <= 5; ++attempt) {
    one.slurm_says("FAILED");
    one.script_says(attempt, "stopped");
    one.look();
    CHECK(one.view().record.state == RunState::stopped);
    CHECK(one.carried_on() == 1);
  }
}

TEST_CASE("a stop file holds a run until someone resumes it") {
  One one;
  REQUIRE(one.campaign.begin(FileLock::Wait::yes));
  REQUIRE(one.campaign.ask_to_stop({0}));
  one.slurm_says("FAILED");
  one.script_says(1, "stopped");
  one.look();
  CHECK(one.campaign.due().empty());
  one.campaign.clear_stop_files({0});
  CHECK(one.campaign.due().size() == 1);
}

TEST_CASE("the time limit is a reason to go on only where something was saved") {
  One one;
  one.slurm_says("TIMEOUT");
  one.script_says(1, "cancelled");
  one.look();
  CHECK(one.view().record.failure == Failure::timeout);
  CHECK(one.campaign.due().empty());
  one.place.write(one.run + "/checkpoints/step", "5");
  auto later = one.place.opened();
  CHECK(later.due().size() == 1);
}

TEST_CASE("cancel is noted before it is done, and a resume leaves it alone") {
  One one;
  one.cancel();
  CHECK(one.place.slurm.cancelled == std::vector<std::string>{"100"});
  one.slurm_says("CANCELLED");
  auto later = one.place.campaign();
  REQUIRE(later.begin(FileLock::Wait::yes));
  CHECK(later.runs()[0].record.state == RunState::cancelled);
  CHECK(later.runs()[0].record.reason == "orch cancel");
  CHECK(later.due().empty());
}

TEST_CASE("a cancelled run that SLURM has forgotten is cancelled, not lost") {
  One one;
  one.cancel();
  one.gone();
  one.look();
  CHECK(one.view().record.state == RunState::cancelled);
  CHECK(one.view().settled);
}

TEST_CASE("an order to cancel outlives a watch that did not hear of it") {
  One one;
  auto watching = one.place.opened();
  watching.refresh();
  one.cancel();
  one.gone();  // SLURM forgets a task that is cancelled before it starts
  watching.refresh();
  one.place.clock.time += 100;
  watching.refresh();
  CHECK(watching.runs()[0].record.state == RunState::cancelled);
  CHECK(watching.due().empty());
  auto later = one.place.opened();
  CHECK(later.due().empty());
}

TEST_CASE("a budget that is used up ends the tries") {
  FollowFolder place;
  const auto run = place.add_run(1);
  place.write("experiment.json", R"({"version": 1, "name": "sweep", "file": "x.lua",
    "gpu_hours": 12, "deadline": ""})");
  auto campaign = place.campaign();
  place.submit_all(campaign);
  place.status(run, 1, "running", campaign.ledger().all()[0].submission.id);
  place.slurm.facts[{campaign.ledger().all()[0].submission.id, 0}] =
      FakeExecutor::fact("NODE_FAIL", "", "100");
  place.slurm.facts.begin()->second.gpu_hours = 4;
  campaign.refresh();
  CHECK(campaign.due().size() == 1);
  CHECK(follow(campaign, {}));  // 4 used and 10 to come are more than 12
  CHECK(place.slurm.jobs.size() == 1);
  CHECK(place.said.back().find("budget") != std::string::npos);
}

TEST_CASE("a job told to stop before it trained is not submitted for ever") {
  FollowLimits options;
  options.retries = 1;
  One one(options);
  for (int attempt = 1; attempt <= 2; ++attempt) {
    one.slurm_says("FAILED");
    one.place.status(one.run, attempt, "stopped", one.task().submission, 1,
                     "told to stop before the training began: the time limit is too short");
    one.look();
    CHECK(one.carried_on() == (attempt == 1 ? 1U : 0U));
  }
}

TEST_CASE("only the runs that were named are submitted again") {
  FollowFolder place;
  for (int i = 0; i < 2; ++i) place.add_run(i);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  REQUIRE(campaign.want({0, 1}));
  campaign.end();
  SubmitResult handed;
  REQUIRE(carry_on(campaign, FileLock::Wait::yes, {"gpt-ddp-00000001"}, handed));
  CHECK(handed.runs == 1);
  CHECK(place.slurm.jobs[0].runs == std::vector<std::string>{"gpt-ddp-00000001"});
}

TEST_CASE("a run that was never submitted can be cancelled too") {
  FollowFolder place;
  place.add_run(1);
  auto campaign = place.campaign();
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  REQUIRE(campaign.want({0}));
  REQUIRE(campaign.cancel({0}));
  CHECK(campaign.due().empty());
  auto later = place.opened();
  CHECK(later.runs()[0].settled);
  CHECK(later.due().empty());
}

TEST_CASE("tasks of an array are cancelled one by one") {
  FollowFolder place;
  for (int i = 0; i < 3; ++i) place.add_run(i);
  auto campaign = place.campaign();
  place.submit_all(campaign);
  REQUIRE(campaign.begin(FileLock::Wait::yes));
  REQUIRE(campaign.cancel({1}));
  CHECK(place.slurm.cancelled == std::vector<std::string>{"100_1"});
}

TEST_CASE("an id that SLURM gave to someone else is not cancelled") {
  One one;
  one.gone();
  REQUIRE(one.campaign.begin(FileLock::Wait::yes));
  REQUIRE(one.campaign.cancel({0}));
  CHECK(one.place.slurm.cancelled.empty());
}

TEST_CASE("a hung run is cancelled and submitted again where that was asked for") {
  FollowLimits options;
  options.cancel_hung = true;
  One one(options);
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.place.slurm.facts[one.task()].elapsed_seconds = 1e6;  // and no first step
  one.place.clock.on_sleep = [&] {
    if (!one.place.slurm.cancelled.empty() && one.place.slurm.jobs.size() == 1)
      one.slurm_says("CANCELLED");
    if (one.place.slurm.jobs.size() == 2) {
      one.slurm_says("COMPLETED");
      one.script_says(2, "finished");
    }
  };
  CHECK(follow(one.campaign, {}));
  CHECK(one.place.slurm.jobs.size() == 2);
  CHECK(one.view().record.state == RunState::finished);
}

// A run that hangs at step 2, until orch cancels it.
struct Hang : One {
  Hang() {
    slurm_says("RUNNING");
    script_says(1, "running");
    makes_step(2, 1e6);
    look();
  }
  void makes_step(int step, double age = 0) {
    record::TrainingProgress progress;
    progress.measured.steps = step;
    progress.age = age;
    place.log = progress;
  }
  void cancel() {
    place.slurm.on_cancel = [&] {
      record::LiveRun noted;
      REQUIRE(store::read_state(place.root() / "sweep" / run, noted));
      REQUIRE(noted.cancelled_hang);
      CHECK(noted.cancelled_hang->submission == task().submission);
    };
    REQUIRE(campaign.cancel_hung({0}));
    REQUIRE(place.slurm.cancelled.size() == 1);
  }
  void check_hang(const Campaign& seen) const {
    CHECK(seen.runs()[0].record.state == RunState::failed);
    CHECK(seen.runs()[0].record.failure == Failure::hang);
    CHECK(seen.runs()[0].record.reason.ends_with("since step 2; cancelled"));
    CHECK(seen.runs()[0].settled);
    CHECK(seen.due().size() == 1);
  }
};

// The cancelled hang, before the scheduler or the job's script has reported an end.
struct CancelledHang : Hang {
  CancelledHang() { cancel(); }
};

TEST_CASE("a hang that orch cancelled stays one when the script speaks long before the scheduler") {
  for (const auto* word : {"cancelled", "failed", "stopped"}) {
    CancelledHang hang;
    hang.script_says(1, word);
    for (const auto* state : {"RUNNING", "COMPLETING", "COMPLETING"}) {
      hang.slurm_says(state);
      hang.look();
      CHECK(hang.campaign.due().empty());
    }
    hang.slurm_says("CANCELLED");
    hang.look();
    hang.check_hang(hang.campaign);
  }
}

TEST_CASE("a hang that orch cancelled stays one when the scheduler speaks before the script") {
  CancelledHang hang;
  hang.slurm_says("COMPLETING");
  hang.look();
  hang.slurm_says("CANCELLED");
  hang.look();
  hang.check_hang(hang.campaign);
  hang.script_says(1, "cancelled");
  hang.look();
  hang.check_hang(hang.campaign);
}

TEST_CASE("a hang that orch cancelled stays one where the scheduler forgets the job") {
  CancelledHang hang;
  hang.gone();
  hang.look();
  CHECK(hang.campaign.due().empty());  // its files may be late
  hang.script_says(1, "failed");
  hang.look();
  hang.check_hang(hang.campaign);
}

TEST_CASE("a hang that orch cancelled is one for every other orch too") {
  Hang hang;
  auto before = hang.place.opened();
  before.refresh();
  hang.cancel();
  hang.script_says(1, "cancelled");
  hang.slurm_says("COMPLETING");
  before.refresh();
  auto after = hang.place.opened();
  after.refresh();
  hang.slurm_says("CANCELLED");
  before.refresh();
  hang.check_hang(before);
  after.refresh();
  hang.check_hang(after);
}

TEST_CASE("a hang that ends well is finished, and one that a user cancels too is cancelled") {
  CancelledHang well;
  well.script_says(1, "finished");
  well.slurm_says("CANCELLED");
  well.look();
  CHECK(well.view().record.state == RunState::finished);

  CancelledHang asked;
  REQUIRE(asked.campaign.begin(FileLock::Wait::yes));
  asked.place.slurm.on_cancel = nullptr;
  REQUIRE(asked.campaign.cancel({0}));
  asked.campaign.end();
  asked.slurm_says("CANCELLED");
  asked.look();
  CHECK(asked.view().record.state == RunState::cancelled);
  CHECK(asked.campaign.due().empty());
}

TEST_CASE("a hang that orch could not cancel is over once the run makes steps again") {
  Hang hang;
  auto other = hang.place.campaign();  // knows the order only from the disk
  REQUIRE(other.open());
  other.refresh();
  hang.place.slurm.cancel_fails = true;
  REQUIRE_FALSE(hang.campaign.cancel_hung({0}));
  const auto both_look = [&] {
    hang.look();
    other.refresh();
  };
  SECTION("another step") {
    hang.makes_step(3);
    both_look();
    CHECK(hang.view().record.failure == Failure::none);
    hang.script_says(1, "failed");
    hang.slurm_says("FAILED");
    both_look();
    for (const auto* seen : {&hang.campaign, &other}) {
      CHECK(seen->runs()[0].record.failure == Failure::bad_exit);
      CHECK(seen->due().empty());
    }
    auto later = hang.place.opened();
    CHECK_FALSE(later.runs()[0].cancelled_hang);
  }
  SECTION("only the orch that did not give the order is left") {
    hang.makes_step(3);
    other.refresh();
    hang.script_says(1, "failed");
    hang.slurm_says("FAILED");
    other.refresh();
    CHECK(other.runs()[0].record.failure == Failure::bad_exit);
  }
  SECTION("no other step") {
    hang.makes_step(2);  // its log grew
    both_look();
    hang.script_says(1, "cancelled");
    hang.slurm_says("CANCELLED");
    both_look();
    hang.check_hang(hang.campaign);
    hang.check_hang(other);
  }
  SECTION("a step while the job ends") {
    hang.makes_step(3);
    hang.slurm_says("COMPLETING");
    both_look();
    hang.script_says(1, "cancelled");
    hang.slurm_says("CANCELLED");
    both_look();
    hang.check_hang(hang.campaign);
    hang.check_hang(other);
  }
}

TEST_CASE("a hung run that someone else cancels is cancelled") {
  One one;
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.place.slurm.facts[one.task()].elapsed_seconds = 1e6;
  one.look();
  REQUIRE(one.view().record.failure == Failure::hang);
  one.slurm_says("CANCELLED");
  one.look();
  CHECK(one.view().record.reason == "scancel");
  CHECK(one.campaign.due().empty());
}

TEST_CASE("an order to end a hung run that does not get through is given again") {
  FollowLimits options;
  options.cancel_hung = true;
  One one(options);
  one.slurm_says("RUNNING");
  one.script_says(1, "running");
  one.place.slurm.facts[one.task()].elapsed_seconds = 1e6;
  one.place.slurm.cancel_fails = true;
  one.place.clock.on_sleep = [&] {
    one.place.slurm.cancel_fails = false;
    if (one.place.slurm.cancelled.size() == 2) one.slurm_says("CANCELLED");
    if (one.place.slurm.jobs.size() == 2) one.place.interrupted = true;
  };
  follow(one.campaign, {});
  CHECK(one.place.slurm.cancelled.size() == 2);
  CHECK(one.place.slurm.jobs.size() == 2);
}

}  // namespace
}  // namespace orch::follow
