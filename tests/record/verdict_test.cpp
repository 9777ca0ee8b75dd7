#include "core/record/verdict.h"

#include <catch2/catch_test_macros.hpp>

namespace orch::record {
namespace {

// One phase of a run, in a submission that SLURM accepted.
struct VerdictCase {
  Submission submission;
  JobFact job;
  Attempt attempt;
  Evidence evidence;

  VerdictCase() {
    submission.id = "0001-aaaa";
    submission.job = "17";
    evidence.submission = &submission;
    evidence.executor_answered = true;
    evidence.step_seconds = 2;
  }
  VerdictCase& slurm_says(const std::string& state, const std::string& reason = "") {
    job.state = state;
    job.reason = reason;
    job.job = "17";
    evidence.job = &job;
    return *this;
  }
  VerdictCase& script_says(const std::string& state, const std::string& message = "") {
    attempt.number = 1;
    attempt.state = state;
    attempt.message = message;
    evidence.attempts = {&attempt};
    return *this;
  }
  VerdictCase& log_says(Failure failure, const std::string& line) {
    evidence.confession = [failure, line] { return record::FailureReport{failure, line}; };
    return *this;
  }
  StateVerdict verdict() const { return judge(evidence); }
};

void is(const VerdictCase& c, RunState state, Failure failure) {
  const auto verdict = c.verdict();
  INFO(verdict.reason);
  CHECK(name(verdict.state) == name(state));
  CHECK(name(verdict.failure) == name(failure));
}

TEST_CASE("a run that nobody submitted is planned") { CHECK(judge({}).state == RunState::planned); }

TEST_CASE("only what the script calls finished is finished") {
  is(VerdictCase().slurm_says("COMPLETED").script_says("finished"), RunState::finished,
     Failure::none);
  is(VerdictCase().script_says("finished"), RunState::finished, Failure::none);  // purged
  is(VerdictCase().slurm_says("TIMEOUT").script_says("finished"), RunState::finished,
     Failure::none);
}

TEST_CASE("a job that SLURM runs once more after its end has finished all the same") {
  Attempt again;
  again.number = 2;
  for (const auto* state : {"running", "failed", "cancelled"}) {
    again.state = state;
    VerdictCase twice;
    twice.slurm_says("FAILED").script_says("finished").evidence.attempts.push_back(&again);
    is(twice, RunState::finished, Failure::none);
  }
}

TEST_CASE("leaving with 0 is finishing only after the last step") {
  const auto left_after = [](std::int64_t step) {
    VerdictCase out;
    out.slurm_says("FAILED").script_says("left").evidence.steps = 200;
    if (step > 0) out.evidence.progress.emplace().measured.steps = step;
    return out;
  };
  is(left_after(200), RunState::finished, Failure::none);
  is(left_after(199), RunState::failed, Failure::early_exit);
  is(left_after(0), RunState::failed, Failure::early_exit);
  CHECK(left_after(0).verdict().reason.starts_with("exited with code 0 after 0 of 200 steps; "));
  CHECK_FALSE(is_transient(Failure::early_exit));
  CHECK(parse_failure("early_exit") == Failure::early_exit);
  // A shell that loses its program's exit code: the log has the reason.
  is(left_after(7).log_says(Failure::gpu_memory, "CUDA OOM"), RunState::failed,
     Failure::gpu_memory);
  VerdictCase unheard;
  unheard.slurm_says("FAILED").job.exit_code = 76;
  is(unheard, RunState::failed, Failure::early_exit);
  CHECK_FALSE(unheard.verdict().heard);
  is(left_after(200).slurm_says("CANCELLED"), RunState::cancelled, Failure::none);
}

TEST_CASE("absence is never success") {
  is(VerdictCase(), RunState::failed, Failure::lost);
  is(VerdictCase().script_says("running"), RunState::failed, Failure::lost);
  is(VerdictCase().slurm_says("COMPLETED"), RunState::failed, Failure::bad_exit);
  is(VerdictCase().slurm_says("COMPLETED").script_says("running"), RunState::failed,
     Failure::bad_exit);
}

TEST_CASE("a scheduler that does not answer ends nothing") {
  VerdictCase waiting;
  waiting.evidence.executor_answered = false;
  is(waiting, RunState::pending, Failure::none);
  VerdictCase running;
  running.script_says("running").evidence.executor_answered = false;
  is(running, RunState::running, Failure::none);
  // It may have been requeued: the last attempt's report is not the end.
  VerdictCase stopped;
  stopped.script_says("stopped", "requeued").evidence.executor_answered = false;
  is(stopped, RunState::running, Failure::none);
}

TEST_CASE("a job that was put back waits, whatever its last attempt said") {
  is(VerdictCase().slurm_says("PENDING", "BeginTime").script_says("stopped"), RunState::pending,
     Failure::none);
  is(VerdictCase().slurm_says("REQUEUED").script_says("cancelled"), RunState::pending,
     Failure::none);
  is(VerdictCase().slurm_says("COMPLETING").script_says("stopped"), RunState::running,
     Failure::none);
}

TEST_CASE("a job that waits says why in words") {
  CHECK(VerdictCase().slurm_says("PENDING", "BeginTime").verdict().reason ==
        "requeued by SLURM, starts soon");
  CHECK(VerdictCase().slurm_says("PENDING", "Resources").verdict().reason ==
        "waiting for free nodes");
  CHECK(VerdictCase().slurm_says("PENDING", "PartitionNodeLimit").verdict().reason ==
        "more nodes than the partition allows: never starts");
  CHECK(VerdictCase()
            .slurm_says("PENDING", "ReqNodeNotAvail, UnavailableNodes:a100-1")
            .verdict()
            .reason == "its nodes are down, drained or reserved");
  CHECK(VerdictCase().slurm_says("PENDING", "QOSMaxJobsPerUserLimit").verdict().reason ==
        "as many jobs run as the account may have (QOSMaxJobsPerUserLimit)");
  CHECK(VerdictCase().slurm_says("PENDING", "Some\x1bNews").verdict().reason == "Some\\x1bNews");
}

TEST_CASE("every class of failure is told apart") {
  is(VerdictCase().slurm_says("OUT_OF_MEMORY").script_says("failed"), RunState::failed,
     Failure::host_memory);
  VerdictCase step;  // the job FAILED, but one of its steps was killed for memory
  step.slurm_says("FAILED").script_says("failed", "task 3: Killed").job.out_of_memory = true;
  is(step, RunState::failed, Failure::host_memory);
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::gpu_memory,
                                                                       "CUDA OOM"),
     RunState::failed, Failure::gpu_memory);
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::nccl, "NCCL error"),
     RunState::failed, Failure::nccl);
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::node, "Xid 79"),
     RunState::failed, Failure::node);
  is(VerdictCase().slurm_says("TIMEOUT").script_says("cancelled"), RunState::failed,
     Failure::timeout);
  is(VerdictCase().slurm_says("TIMEOUT").script_says("running"), RunState::failed,
     Failure::timeout);
  is(VerdictCase().slurm_says("NODE_FAIL").script_says("running"), RunState::failed, Failure::node);
  is(VerdictCase().slurm_says("BOOT_FAIL"), RunState::failed, Failure::node);
  is(VerdictCase().slurm_says("PREEMPTED").script_says("cancelled"), RunState::failed,
     Failure::preempted);
  is(VerdictCase().slurm_says("FAILED").script_says("bad_nodes", "a100-1"), RunState::failed,
     Failure::node);
  is(VerdictCase().slurm_says("FAILED").script_says("failed", "exit code 3"), RunState::failed,
     Failure::bad_exit);
  is(VerdictCase().slurm_says("FAILED"), RunState::failed, Failure::bad_exit);
  is(VerdictCase().slurm_says("CANCELLED").script_says("cancelled"), RunState::cancelled,
     Failure::none);
  is(VerdictCase().slurm_says("CANCELLED"), RunState::cancelled, Failure::none);
  is(VerdictCase().slurm_says("DEADLINE"), RunState::failed, Failure::refused);
  is(VerdictCase().slurm_says("FAILED").script_says("stopped", "saved"), RunState::stopped,
     Failure::none);
}

TEST_CASE("what a trainer says of its end is the reason") {
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::data,
                                                                       "x.bin is short"),
     RunState::failed, Failure::data);
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::nan, "at step 7"),
     RunState::failed, Failure::nan);
  is(VerdictCase().slurm_says("FAILED").script_says("failed").log_says(Failure::disk, "full"),
     RunState::failed, Failure::disk);
  VerdictCase other;  // it points into itself
  other.slurm_says("FAILED").script_says("failed").log_says(Failure::bad_exit, "no such layout");
  is(other, RunState::failed, Failure::bad_exit);
  CHECK(other.verdict().reason == "no such layout");
  for (const auto failure : {Failure::data, Failure::nan, Failure::disk}) {
    CHECK_FALSE(is_transient(failure));
    CHECK(parse_failure(name(failure)) == failure);
  }
}

TEST_CASE("a run that had stopped and is cancelled in the queue is cancelled") {
  is(VerdictCase().slurm_says("CANCELLED").script_says("stopped"), RunState::cancelled,
     Failure::none);
  is(VerdictCase().slurm_says("CANCELLED").script_says("bad_nodes"), RunState::cancelled,
     Failure::none);
}

TEST_CASE("what the script should have said may only be late") {
  VerdictCase nodes, stopped, other;
  nodes.slurm_says("FAILED").job.exit_code = 69;
  is(nodes, RunState::failed, Failure::node);
  stopped.slurm_says("FAILED").job.exit_code = 75;
  is(stopped, RunState::stopped, Failure::none);
  other.slurm_says("FAILED").job.exit_code = 1;
  for (const auto* c : {&nodes, &stopped, &other}) CHECK_FALSE(c->verdict().heard);
  CHECK_FALSE(VerdictCase().slurm_says("COMPLETED").verdict().heard);
  CHECK_FALSE(VerdictCase().verdict().heard);
  CHECK(VerdictCase().slurm_says("NODE_FAIL").script_says("running").verdict().heard);
  CHECK(VerdictCase().slurm_says("FAILED").script_says("failed").verdict().heard);
}

TEST_CASE("a submission that was refused says what the scheduler said") {
  VerdictCase refused;
  refused.submission.job.clear();
  refused.submission.refused = "Invalid account";
  is(refused, RunState::failed, Failure::refused);
  CHECK(refused.verdict().reason == "Invalid account");
}

TEST_CASE("the slowest rank of a running run is named") {
  VerdictCase slow;
  slow.slurm_says("RUNNING").script_says("running").evidence.progress = TrainingProgress{};
  auto& measured = slow.evidence.progress->measured;
  measured.steps = 7;
  measured.odd_nodes = {{"rank 3 on n2", 0.6, 0.5, "seconds of computing per step since step 2"},
                        {"rank 5 on n3", 0.8, 0.5, "seconds of computing per step since step 4"}};
  CHECK(slow.verdict().state == RunState::running);
  CHECK(slow.verdict().reason ==
        "slow: rank 5 on n3, 1.60 times the others' seconds of computing per step since step 4; "
        "1 more");
}

TEST_CASE("no progress for many steps' time is a hang, a slow step is not") {
  VerdictCase slow;
  slow.slurm_says("RUNNING").script_says("running").evidence.progress = TrainingProgress{};
  slow.evidence.progress->measured.steps = 7;
  slow.evidence.progress->age = 599;  // 2 s steps: the minimum of ten minutes counts
  is(slow, RunState::running, Failure::none);
  slow.evidence.progress->age = 601;
  is(slow, RunState::running, Failure::hang);
  slow.evidence.progress->measured.step_seconds =
      statistics::Interval{100, {}, {}, 1};  // slower than estimated: 20 steps are 2000 s
  is(slow, RunState::running, Failure::none);
  slow.evidence.progress->age = 2001;
  is(slow, RunState::running, Failure::hang);

  VerdictCase first;
  first.slurm_says("RUNNING").script_says("running").job.elapsed_seconds = 1799;
  is(first, RunState::running, Failure::none);
  first.job.elapsed_seconds = 1801;
  is(first, RunState::running, Failure::hang);
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
  for (int i = 0; i <= static_cast<int>(RunState::cancelled); ++i)
    CHECK(parse_state(name(static_cast<RunState>(i))) == static_cast<RunState>(i));
  for (int i = 0; i <= static_cast<int>(Failure::lost); ++i)
    CHECK(parse_failure(name(static_cast<Failure>(i))) == static_cast<Failure>(i));
  CHECK_FALSE(parse_state("done"));
}

}  // namespace
}  // namespace orch::record
