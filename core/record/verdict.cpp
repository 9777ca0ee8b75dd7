#include "core/record/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orch::record {
namespace {

constexpr std::array<std::string_view, 7> kStates = {"planned",  "pending", "running",  "stopped",
                                                     "finished", "failed",  "cancelled"};
constexpr std::array<std::string_view, 15> kFailures = {
    "none",     "gpu_memory", "host_memory", "timeout", "node", "preempted", "hang", "nccl",
    "bad_exit", "early_exit", "refused",     "data",    "nan",  "disk",      "lost"};

bool waits(const JobFact& job) {
  return contains({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                   "SPECIAL_EXIT", "RESV_DEL_HOLD"},
                  job.state);
}

// A job that is COMPLETING may still be requeued, so its last report is not final.
bool runs(const JobFact& job) {
  return contains(
      {"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"},
      job.state);
}

constexpr double kHangSteps = 20;  // without a step in the time of this many steps, a run hangs

// Exit codes of the job script.
constexpr int kBadNodes = 69;
constexpr int kStopped = 75;
constexpr int kLeft = 76;

std::string pending_reason(const std::string& word) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 20> texts = {{
      {"Resources", "waiting for free nodes"},
      {"Priority", "other jobs go first"},
      {"Dependency", "waiting for the phase before"},
      {"DependencyNeverSatisfied", "the phase before failed: never starts"},
      {"InTurn", "waiting for the runs before it in its job"},
      {"JobArrayTaskLimit", "as many run at a time as were allowed"},
      {"BeginTime", "requeued by SLURM, starts soon"},
      {"JobHeldUser", "held by its user: scontrol release"},
      {"JobHeldAdmin", "held by an administrator"},
      {"launch_failed_requeued_held", "held: its launch failed; scontrol release"},
      {"PartitionNodeLimit", "more nodes than the partition allows: never starts"},
      {"PartitionTimeLimit", "a longer time limit than the partition's: never starts"},
      {"PartitionDown", "the partition is down"},
      {"PartitionInactive", "the partition is inactive"},
      {"BadConstraints", "no node meets the constraints: never starts"},
      {"ReqNodeNotAvail", "its nodes are down, drained or reserved"},
      {"Reservation", "waiting for its reservation"},
      {"Licenses", "waiting for a licence"},
      {"AssocGrpGRESMinutes", "the account has no GPU-hours left"},
      {"None", ""},
  }};
  const auto key = word.substr(0, word.find_first_of(",( "));
  for (const auto& [slurm, text] : texts)
    if (key == slurm) return std::string(text);
  if (key.find("MaxJobs") != std::string::npos || key.find("GrpJobs") != std::string::npos)
    return "as many jobs run as the account may have (" + printable(key) + ")";
  return printable(word);
}

std::optional<StateVerdict> hang(const Evidence& evidence) {
  const auto& progress = evidence.progress;
  double step = evidence.step_seconds;
  if (progress) {
    const auto& measured = progress->measured;
    if (measured.step_seconds) step = std::max(step, measured.step_seconds->value);
    const double limit = std::max(evidence.hang_seconds, kHangSteps * step);
    if (progress->age <= limit) return std::nullopt;
    return StateVerdict{RunState::running, Failure::hang,
                        fmt::format("no step for {}, since step {}", format_seconds(progress->age),
                                    measured.steps)};
  }
  // Start-up, data and the first collectives come before the first step.
  const double limit = std::max(3 * evidence.hang_seconds, kHangSteps * step);
  if (!evidence.job || evidence.job->elapsed_seconds <= limit) return std::nullopt;
  return StateVerdict{
      RunState::running, Failure::hang,
      fmt::format("no first step after {}", format_seconds(evidence.job->elapsed_seconds))};
}

// "rank 3 on n2 computes 1.21 times as long as others, since step 100".
std::string slow_ranks(const Measurement& measured) {
  if (measured.odd_nodes.empty()) return "";
  const auto slowest = std::max_element(
      measured.odd_nodes.begin(), measured.odd_nodes.end(),
      [](const auto& a, const auto& b) { return a.value / a.typical < b.value / b.typical; });
  auto out = fmt::format("slow: {}, {:.2f} times the others' {}", slowest->name,
                         slowest->value / slowest->typical, slowest->what);
  if (const auto more = measured.odd_nodes.size() - 1; more > 0)
    out += fmt::format("; {} more", more);
  return out;
}

StateVerdict running(const Evidence& evidence) {
  if (evidence.job && evidence.job->state == "SUSPENDED")
    return {RunState::running, Failure::none, "suspended"};
  const auto slow = evidence.progress ? slow_ranks(evidence.progress->measured) : "";
  return hang(evidence).value_or(StateVerdict{RunState::running, Failure::none, slow});
}

// The meaning of the scheduler's final state by itself.
std::optional<StateVerdict> final_word(const JobFact& job) {
  const auto& state = job.state;
  if (job.out_of_memory || state == "OUT_OF_MEMORY")
    return StateVerdict{RunState::failed, Failure::host_memory,
                        "killed: out of memory on the host"};
  if (state == "TIMEOUT")
    return StateVerdict{RunState::failed, Failure::timeout, "the time limit ended it"};
  if (state == "PREEMPTED") return StateVerdict{RunState::failed, Failure::preempted, "preempted"};
  if (contains({"NODE_FAIL", "BOOT_FAIL"}, state))
    return StateVerdict{RunState::failed, Failure::node, "a node failed: " + printable(job.nodes)};
  if (state == "DEADLINE")
    return StateVerdict{RunState::failed, Failure::refused, "could not start before its deadline"};
  if (state == "REVOKED")
    return StateVerdict{RunState::failed, Failure::lost, "moved to another cluster"};
  return std::nullopt;
}

std::optional<StateVerdict> confessed(const Evidence& evidence) {
  if (!evidence.confession) return std::nullopt;
  const auto [failure, line] = evidence.confession();
  if (failure == Failure::none) return std::nullopt;
  return StateVerdict{RunState::failed, failure, line};
}

// A program that exits at once will do so again: not retried.
StateVerdict left(const Evidence& evidence) {
  const auto step = evidence.progress ? evidence.progress->measured.steps : 0;
  if (evidence.steps > 0 && step >= evidence.steps) return {RunState::finished, Failure::none, ""};
  if (const auto verdict = confessed(evidence)) return *verdict;
  return {RunState::failed, Failure::early_exit,
          fmt::format("exited with code 0 after {} of {} steps; a trainer that is done writes the "
                      "file 'finished' in the folder of its attempt",
                      step, evidence.steps)};
}

StateVerdict ended_attempt(const Evidence& evidence, const Attempt& attempt) {
  const auto* job = evidence.job;
  const auto message = printable(attempt.message);
  // Also if it had stopped and was waiting in the queue to continue.
  if (job && job->state == "CANCELLED") return {RunState::cancelled, Failure::none, "scancel"};
  if (attempt.state == "bad_nodes")
    return {RunState::failed, Failure::node, "bad nodes: " + message};
  if (attempt.state == "stopped") return {RunState::stopped, Failure::none, message};
  if (const auto verdict = job ? final_word(*job) : std::nullopt) return *verdict;
  if (attempt.state == "left") return left(evidence);
  if (attempt.state == "cancelled") return {RunState::failed, Failure::lost, message};
  if (const auto verdict = confessed(evidence)) return *verdict;
  return {RunState::failed, Failure::bad_exit, message};
}

StateVerdict silent_end(const Evidence& evidence, const JobFact& job) {
  if (const auto verdict = final_word(job)) return *verdict;
  if (job.state == "CANCELLED") {
    if (job.reason.starts_with("Dependency"))
      return {RunState::cancelled, Failure::none, "the phase before failed"};
    return {RunState::cancelled, Failure::none, "scancel"};
  }
  // Not retried automatically: a training that is done but could not report it would be repeated.
  if (job.state == "COMPLETED")
    return {RunState::failed, Failure::bad_exit,
            "completed according to SLURM, but the run folder does not say how it ended", false};
  if (const auto verdict = confessed(evidence)) return *verdict;
  const auto code = job.exit_code.value_or(1);
  if (code == kBadNodes) return {RunState::failed, Failure::node, "bad nodes", false};
  if (code == kStopped) return {RunState::stopped, Failure::none, "", false};
  if (code == kLeft)
    return {RunState::failed, Failure::early_exit, "the trainer exited with code 0 too early",
            false};
  return {RunState::failed, Failure::bad_exit, fmt::format("the job exited with code {}", code),
          false};
}

StateVerdict without_answer(const Attempt* last) {
  if (last) return {RunState::running, Failure::none, "the scheduler does not answer"};
  return {RunState::pending, Failure::none, "the scheduler does not answer"};
}

}  // namespace

std::string_view name(RunState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view name(Failure failure) { return kFailures[static_cast<std::size_t>(failure)]; }
std::optional<RunState> parse_state(std::string_view text) {
  return enum_of<RunState>(kStates, text);
}
std::optional<Failure> parse_failure(std::string_view text) {
  return enum_of<Failure>(kFailures, text);
}

bool is_transient(Failure failure) {
  switch (failure) {
    case Failure::node:
    case Failure::preempted:
    case Failure::hang:
    case Failure::nccl:
    case Failure::lost:
      return true;
    default:
      return false;
  }
}

StateVerdict judge(const Evidence& evidence) {
  const Attempt* last = evidence.attempts.empty() ? nullptr : evidence.attempts.back();
  // Not only the last one: SLURM may start a job once more after its end.
  if (std::any_of(evidence.attempts.begin(), evidence.attempts.end(),
                  [](const Attempt* attempt) { return attempt->state == "finished"; }))
    return {RunState::finished, Failure::none, ""};
  const bool ended = last && last->state != "running";
  if (!evidence.submission) {
    if (!last) return {};
    return ended ? ended_attempt(evidence, *last)
                 : StateVerdict{RunState::running, Failure::none, "submitted by hand"};
  }
  if (!evidence.submission->refused.empty())
    return {RunState::failed, Failure::refused, printable(evidence.submission->refused)};
  if (const auto* job = evidence.job) {
    if (waits(*job)) return {RunState::pending, Failure::none, pending_reason(job->reason)};
    if (runs(*job)) return running(evidence);
    return ended ? ended_attempt(evidence, *last) : silent_end(evidence, *job);
  }
  if (ended && !evidence.executor_answered)
    return {RunState::running, Failure::none, "the scheduler does not answer"};
  if (ended) return ended_attempt(evidence, *last);
  if (!evidence.executor_answered) return without_answer(last);
  if (last)
    return {RunState::failed, Failure::lost,
            "the scheduler no longer knows the job, and it did not record how it ended", false};
  return {RunState::failed, Failure::lost,
          "the scheduler does not know the job, and it never started", false};
}

}  // namespace orch::record
