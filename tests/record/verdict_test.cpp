#include "core/record/verdict.h"

#include <catch2/catch_test_macros.hpp>

namespace orch::record {
namespace {

// One phase of a run, in a submission that SLURM accepted.
struct Case {
  Submission submission;
  JobFact job;
  Attempt attempt;
  Evidence evidence;

  Case() {
    submission.id = "0001-aaaa";
    submission.job = "17";
    evidence.submission = &submission;
    evidence.executor_answered = true;
    evidence.step_seconds = 2;
  }
  Case& slurm_says(const std::string& state, const std::string& reason = "") {
    job.state = state;
    job.reason = reason;
    job.job = "17";
    evidence.job = &job;
    return *this;
  }
  Case& script_says(const std::string& state, const std::string& message = "") {
    attempt.number = 1;
    attempt.state = state;
    attempt.message = message;
    evidence.attempts = {&attempt};
    return *this;
  }
  Case& log_says(Failure failure, const std::string& line) {
    evidence.confession = [failure, line] { return record::Confession{failure, line}; };
    return *this;
  }
  Verdict verdict() const { return judge(evidence); }
};

void is(const Case& c, State state, Failure failure) {
  const auto verdict = c.verdict();
  INFO(verdict.reason);
  CHECK(name(verdict.state) == name(state));
  CHECK(name(verdict.failure) == name(failure));
}

TEST_CASE("a run that nobody submitted is planned") { CHECK(judge({}).state == State::planned); }

TEST_CASE("only what the script calls finished is finished") {
  is(Case().slurm_says("COMPLETED").script_says("finished"), State::finished, Failure::none);
  is(Case().script_says("finished"), State::finished, Failure::none);  // purged
  is(Case().slurm_says("TIMEOUT").script_says("finished"), State::finished, Failure::none);
}

TEST_CASE("a job that SLURM runs once more after its end has finished all the same") {
  Attempt again;
  again.number = 2;
  for (const auto* state : {"running", "failed", "cancelled"}) {
    again.state = state;
    Case twice;
    twice.slurm_says("FAILED").script_says("finished").evidence.attempts.push_back(&again);
    is(twice, State::finished, Failure::none);
  }
}

TEST_CASE("leaving with 0 is finishing only after the last step") {
  const auto left_after = [](std::int64_t step) {
    Case out;
    out.slurm_says("FAILED").script_says("left").evidence.steps = 200;
    if (step > 0) out.evidence.progress.emplace().measured.steps = step;
    return out;
  };
  is(left_after(200), State::finished, Failure::none);
  is(left_after(199), State::failed, Failure::early_exit);
  is(left_after(0), State::failed, Failure::early_exit);
  CHECK(left_after(0).verdict().reason.starts_with("exited with code 0 after 0 of 200 steps; "));
  CHECK_FALSE(is_transient(Failure::early_exit));
  CHECK(parse_failure("early_exit") == Failure::early_exit);
  // A shell that loses its program's exit code: the log has the reason.
  is(left_after(7).log_says(Failure::gpu_memory, "CUDA OOM"), State::failed, Failure::gpu_memory);
  Case unheard;
  unheard.slurm_says("FAILED").job.exit_code = 76;
  is(unheard, State::failed, Failure::early_exit);
  CHECK_FALSE(unheard.verdict().heard);
  is(left_after(200).slurm_says("CANCELLED"), State::cancelled, Failure::none);
}

TEST_CASE("absence is never success") {
  is(Case(), State::failed, Failure::lost);
  is(Case().script_says("running"), State::failed, Failure::lost);
  is(Case().slurm_says("COMPLETED"), State::failed, Failure::bad_exit);
  is(Case().slurm_says("COMPLETED").script_says("running"), State::failed, Failure::bad_exit);
}

TEST_CASE("a scheduler that does not answer ends nothing") {
  Case waiting;
  waiting.evidence.executor_answered = false;
  is(waiting, State::pending, Failure::none);
  Case running;
  running.script_says("running").evidence.executor_answered = false;
  is(running, State::running, Failure::none);
  // It may have been requeued: the last attempt's report is not the end.
  Case stopped;
  stopped.script_says("stopped", "requeued").evidence.executor_answered = false;
  is(stopped, State::running, Failure::none);
}

TEST_CASE("a job that was put back waits, whatever its last attempt said") {
  is(Case().slurm_says("PENDING", "BeginTime").script_says("stopped"), State::pending,
     Failure::none);
  is(Case().slurm_says("REQUEUED").script_says("cancelled"), State::pending, Failure::none);
  is(Case().slurm_says("COMPLETING").script_says("stopped"), State::running, Failure::none);
}

TEST_CASE("a job that waits says why in words") {
  CHECK(Case().slurm_says("PENDING", "BeginTime").verdict().reason ==
        "requeued by SLURM, starts soon");
  CHECK(Case().slurm_says("PENDING", "Resources").verdict().reason == "waiting for free nodes");
  CHECK(Case().slurm_says("PENDING", "PartitionNodeLimit").verdict().reason ==
        "more nodes than the partition allows: never starts");
  CHECK(Case().slurm_says("PENDING", "ReqNodeNotAvail, UnavailableNodes:a100-1").verdict().reason ==
        "its nodes are down, drained or reserved");
  CHECK(Case().slurm_says("PENDING", "QOSMaxJobsPerUserLimit").verdict().reason ==
        "as many jobs run as the account may have (QOSMaxJobsPerUserLimit)");
  CHECK(Case().slurm_says("PENDING", "Some\x1bNews").verdict().reason == "Some\\x1bNews");
}

TEST_CASE("every class of failure is told apart") {
  is(Case().slurm_says("OUT_OF_MEMORY").script_says("failed"), State::failed, Failure::host_memory);
  Case step;  // the job FAILED, but one of its steps was killed for memory
  step.slurm_says("FAILED").script_says("failed", "task 3: Killed").job.out_of_memory = true;
  is(step, State::failed, Failure::host_memory);
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::gpu_memory, "CUDA OOM"),
     State::failed, Failure::gpu_memory);
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::nccl, "NCCL error"),
     State::failed, Failure::nccl);
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::node, "Xid 79"),
     State::failed, Failure::node);
  is(Case().slurm_says("TIMEOUT").script_says("cancelled"), State::failed, Failure::timeout);
  is(Case().slurm_says("TIMEOUT").script_says("running"), State::failed, Failure::timeout);
  is(Case().slurm_says("NODE_FAIL").script_says("running"), State::failed, Failure::node);
  is(Case().slurm_says("BOOT_FAIL"), State::failed, Failure::node);
  is(Case().slurm_says("PREEMPTED").script_says("cancelled"), State::failed, Failure::preempted);
  is(Case().slurm_says("FAILED").script_says("bad_nodes", "a100-1"), State::failed, Failure::node);
  is(Case().slurm_says("FAILED").script_says("failed", "exit code 3"), State::failed,
     Failure::bad_exit);
  is(Case().slurm_says("FAILED"), State::failed, Failure::bad_exit);
  is(Case().slurm_says("CANCELLED").script_says("cancelled"), State::cancelled, Failure::none);
  is(Case().slurm_says("CANCELLED"), State::cancelled, Failure::none);
  is(Case().slurm_says("DEADLINE"), State::failed, Failure::refused);
  is(Case().slurm_says("FAILED").script_says("stopped", "saved"), State::stopped, Failure::none);
}

TEST_CASE("what a trainer says of its end is the reason") {
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::data, "x.bin is short"),
     State::failed, Failure::data);
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::nan, "at step 7"),
     State::failed, Failure::nan);
  is(Case().slurm_says("FAILED").script_says("failed").log_says(Failure::disk, "full"),
     State::failed, Failure::disk);
  Case other;  // it points into itself
  other.slurm_says("FAILED").script_says("failed").log_says(Failure::bad_exit, "no such layout");
  is(other, State::failed, Failure::bad_exit);
  CHECK(other.verdict().reason == "no such layout");
  for (const auto failure : {Failure::data, Failure::nan, Failure::disk}) {
    CHECK_FALSE(is_transient(failure));
    CHECK(parse_failure(name(failure)) == failure);
  }
}

TEST_CASE("a run that had stopped and is cancelled in the queue is cancelled") {
  is(Case().slurm_says("CANCELLED").script_says("stopped"), State::cancelled, Failure::none);
  is(Case().slurm_says("CANCELLED").script_says("bad_nodes"), State::cancelled, Failure::none);
}

TEST_CASE("what the script should have said may only be late") {
  Case nodes, stopped, other;
  nodes.slurm_says("FAILED").job.exit_code = 69;
  is(nodes, State::failed, Failure::node);
  stopped.slurm_says("FAILED").job.exit_code = 75;
  is(stopped, State::stopped, Failure::none);
  other.slurm_says("FAILED").job.exit_code = 1;
  for (const auto* c : {&nodes, &stopped, &other}) CHECK_FALSE(c->verdict().heard);
  CHECK_FALSE(Case().slurm_says("COMPLETED").verdict().heard);
  CHECK_FALSE(Case().verdict().heard);
  CHECK(Case().slurm_says("NODE_FAIL").script_says("running").verdict().heard);
  CHECK(Case().slurm_says("FAILED").script_says("failed").verdict().heard);
}

TEST_CASE("a submission that was refused says what the scheduler said") {
  Case refused;
  refused.submission.job.clear();
  refused.submission.refused = "Invalid account";
  is(refused, State::failed, Failure::refused);
  CHECK(refused.verdict().reason == "Invalid account");
}

TEST_CASE("no progress for many steps' time is a hang, a slow step is not") {
  Case slow;
  slow.slurm_says("RUNNING").script_says("running").evidence.progress = Progress{};
  slow.evidence.progress->measured.steps = 7;
  slow.evidence.progress->age = 599;  // 2 s steps: the minimum of ten minutes counts
  is(slow, State::running, Failure::none);
  slow.evidence.progress->age = 601;
  is(slow, State::running, Failure::hang);
  slow.evidence.progress->measured.step_seconds =
      statistics::Interval{100, {}, {}, 1};  // slower than estimated: 20 steps are 2000 s
  is(slow, State::running, Failure::none);
  slow.evidence.progress->age = 2001;
  is(slow, State::running, Failure::hang);

  Case first;
  first.slurm_says("RUNNING").script_says("running").job.elapsed_seconds = 1799;
  is(first, State::running, Failure::none);
  first.job.elapsed_seconds = 1801;
  is(first, State::running, Failure::hang);
}

TEST_CASE("only what may pass by itself is transient") {
  for (const auto failure :
       {Failure::node, Failure::preempted, Failure::hang, Failure::nccl, Failure::lost})
    CHECK(is_transient(failure));
  for (const auto failure : {Failure::none, Failure::gpu_memory, Failure::host_memory,
                             Failure::timeout, Failure::bad_exit, Failure::refused})
    CHECK_FALSE(is_transient(failure));
}

TEST_CASE("states and failures survive being written") {
  for (int i = 0; i <= static_cast<int>(State::cancelled); ++i)
    CHECK(parse_state(name(static_cast<State>(i))) == static_cast<State>(i));
  for (int i = 0; i <= static_cast<int>(Failure::lost); ++i)
    CHECK(parse_failure(name(static_cast<Failure>(i))) == static_cast<Failure>(i));
  CHECK_FALSE(parse_state("done"));
}

}  // namespace
}  // namespace orch::record
