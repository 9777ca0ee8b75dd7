// Two sources describe a job: squeue, which is up to date but forgets ended jobs after MinJobAge,
// and sacct, which remembers but lags behind or may be missing. poll() asks squeue once for all
// submissions. A task that it shows as ended, or not at all, is asked from accounting until
// settle() is sure of its end: the final facts are then stored and never asked again. While
// accounting lags, the task waits with growing intervals; afterwards squeue's last report counts,
// or the task is gone. A job belongs to a submission only by the id in its comment or command line,
// never by its number alone.
#include "core/run/launch/slurm/slurm_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "core/base/text.h"
#include "core/run/launch/slurm/slurm_reply.h"

namespace orch::launch {
namespace {

using record::JobFact;
using record::JobFacts;
using record::Submission;
using record::TaskId;

constexpr double kAccountingPause = 60;  // before a database that did not answer is asked again
constexpr std::int64_t kLongestScript = 2000;  // folders in an array's script: SLURM accepts 4 MiB
constexpr double kForgetful = 600;             // find(): a controller needs less time

std::vector<std::string> sbatch_words(const SubmitRequest& request) {
  const auto& submission = *request.submission;
  std::vector<std::string> words{
      "--comment=" + record::comment_of(submission.id), "--job-name=" + request.job_name,
      "--output=" + request.log,
      // There is no variable for the comment. The rest of the environment is passed on as usual.
      "--export=ALL,ORCH_SUBMISSION=" + submission.id};
  if (submission.array) {
    auto tasks = fmt::format("--array=0-{}", submission.runs.size() - 1);
    if (request.at_a_time > 0) tasks += fmt::format("%{}", request.at_a_time);
    words.push_back(std::move(tasks));
  }
  if (request.minutes > 0) words.push_back(fmt::format("--time={}", request.minutes));
  std::vector<std::string> waits;
  if (!request.after.empty()) waits.push_back("afterok:" + request.after);
  if (!request.after_any.empty()) waits.push_back("afterany:" + request.after_any);
  if (!waits.empty()) words.push_back("--dependency=" + join(waits, ","));
  if (!request.exclude.empty()) words.push_back("--exclude=" + join(request.exclude, ","));
  words.push_back(request.script.string());
  return words;
}

Command sbatch(const SubmitRequest& request, const std::string& option, double seconds) {
  Command command;
  command.argv = {"sbatch", option};
  std::ranges::move(sbatch_words(request), std::back_inserter(command.argv));
  command.directory = request.directory;
  command.timeout_seconds = seconds;
  command.parsed = false;
  return command;
}

std::string job_of(const std::string& task) { return task.substr(0, task.find('_')); }

// A job that has not started counts as the latest.
double start_of(const JobFact& fact) {
  return fact.start > 0 ? fact.start : std::numeric_limits<double>::infinity();
}

// Groups accounting's rows by task: each gets its last start, with the GPU-hours of all starts.
JobFacts told_tasks(const std::vector<JobRow>& rows,
                    const std::multimap<std::string, const Submission*>& by_job) {
  JobFacts told;
  for (const auto& row : rows) {
    const auto [first, last] = by_job.equal_range(row.job);
    for (auto it = first; it != last; ++it) {
      const auto& submission = *it->second;
      const auto index = row.task.value_or(0);
      if (!carries(row.marks, submission.id)) continue;
      if (row.task.has_value() != submission.array || index >= submission.tasks()) continue;
      auto& fact = told[{submission.id, index}];
      const double hours = fact.gpu_hours + row.fact.gpu_hours;
      if (start_of(row.fact) >= start_of(fact) || fact.state.empty()) fact = row.fact;
      fact.gpu_hours = hours;
    }
  }
  return told;
}

}  // namespace

std::size_t SlurmExecutor::largest_array() {
  if (largest_array_ > 0) return largest_array_;
  const auto tasks = client_.largest_array();
  if (!tasks) return Executor::largest_array();
  largest_array_ = static_cast<std::size_t>(std::min(*tasks, kLongestScript));
  return largest_array_;
}

// While nodes are drained or down, or unknown to a controller that has just started, SLURM reports
// jobs as impossible that it accepts all the same.
bool SlurmExecutor::misses_nodes() {
  const auto facts = client_.facts();
  if (!facts) return false;
  return std::ranges::any_of(facts->nodes, [](const NodeGroup& group) {
    return std::ranges::none_of(std::array{"idle", "mixed", "allocated", "completing"},
                                [&](auto state) { return group.state == state; });
  });
}

Status SlurmExecutor::test(const SubmitRequest& request) {
  for (bool again = false;; again = true) {
    const auto output = shell_.run(sbatch(request, "--test-only", options_.submit_seconds));
    if (!output) return output.error();
    if (output->code == 0 && !output->timed_out) return {};
    auto reply = *output;
    reply.out.clear();
    const auto answer = read_reply(reply);
    if (answer.reply != SubmitOutcome::Reply::refused) return {};
    const bool wants_nodes =
        answer.message.find("node configuration is not available") != std::string::npos;
    if (wants_nodes && misses_nodes()) return {};
    // Nodes may have come back between the two queries.
    if (wants_nodes && !again) continue;
    return Error{"sbatch --test-only", answer.message,
                 "fix the cluster file or the experiment, then plan again"};
  }
}

SubmitOutcome SlurmExecutor::submit(const SubmitRequest& request) {
  auto command = sbatch(request, "--parsable", options_.submit_seconds);
  command.output = request.folder / "answer";
  command.hold = request.lock;
  auto output = shell_.run(command);
  if (!output) return {SubmitOutcome::Reply::unreachable, "", text(output.error())};
  auto answer = read_file(command.output);
  if (!answer) return {SubmitOutcome::Reply::unclear, "", text(answer.error())};
  output->out = std::move(*answer);
  return read_reply(*output);
}

std::optional<std::string> SlurmExecutor::job_in_queue(const std::vector<JobRow>& rows,
                                                       const Submission& submission) const {
  const auto comment = record::comment_of(submission.id);
  for (const auto& row : rows)
    if (row.marks == comment) return row.job;
  return {};
}

Result<std::optional<std::string>> SlurmExecutor::find(const Submission& submission) {
  const bool is_old = clock_.now() - submission.time > kForgetful;
  for (int look = 0; look < (is_old ? 1 : 2); ++look) {
    if (look > 0) clock_.sleep(options_.settle_seconds);
    const auto rows = client_.queue(record::comment_of(submission.id));
    if (!rows) return rows.error();
    if (auto job = job_in_queue(*rows, submission)) return job;
  }
  if (client_.has_no_accounting()) return std::optional<std::string>();
  // A margin of one day, because clocks differ.
  const auto stored = client_.accounting_since(submission.time - 86400);
  if (!stored && client_.has_no_accounting()) return std::optional<std::string>();
  if (!stored) return stored.error();
  for (const auto& row : *stored)
    if (carries(row.marks, submission.id)) return std::optional(row.job);
  return std::optional<std::string>();
}

bool SlurmExecutor::accounting_may_answer() const {
  return !client_.has_no_accounting() && clock_.steady() - accounting_failed_ >= kAccountingPause;
}

JobFacts SlurmExecutor::from_queue(const std::vector<const Submission*>& of,
                                   const std::vector<JobRow>& rows) const {
  std::unordered_map<std::string, const Submission*> by_comment;
  for (const auto* submission : of)
    by_comment.emplace(record::comment_of(submission->id), submission);
  JobFacts facts;
  for (const auto& row : rows) {
    const auto found = by_comment.find(row.marks);
    if (found == by_comment.end()) continue;
    const auto& submission = *found->second;
    if (!submission.job.empty() && submission.job != row.job) continue;
    if (row.task.has_value() || !submission.array) {
      const auto index = row.task.value_or(0);
      if (index < submission.tasks()) facts[{submission.id, index}] = row.fact;
      continue;
    }
    // An array that was cancelled before its first task is shown as one job.
    for (std::size_t index = 0; index < submission.runs.size(); ++index) {
      auto fact = row.fact;
      fact.job = fmt::format("{}_{}", row.job, index);
      facts.try_emplace({submission.id, index}, std::move(fact));
    }
  }
  return facts;
}

// Stores the end of a task once it is certain, or once nothing more can be expected.
void SlurmExecutor::settle(const TaskId& task, const JobFact* told, const JobFact* queued) {
  const auto now = clock_.steady();
  auto& waiting = waiting_.try_emplace(task, Waiting{now, now}).first->second;
  // Accounting lags behind: it shows an earlier start, or no end yet.
  const bool lags = told == nullptr || !has_ended(told->state) ||
                    (queued != nullptr && told->start > 0 && told->start < queued->start - 1);
  if (lags && now - waiting.since < options_.accounting_lag) {
    waiting.next = now + std::max(2.0, now - waiting.since);
    return;
  }
  if (!lags) {
    auto& fact = final_[task] = *told;
    if (queued != nullptr) {
      fact.out_of_memory |= queued->out_of_memory;
      if (fact.reason.empty()) fact.reason = queued->reason;
      if (fact.gpu_hours == 0) fact.gpu_hours = queued->gpu_hours;
    }
  } else if (queued != nullptr) {
    final_[task] = *queued;
  } else {
    gone_.insert(task);
  }
  waiting_.erase(task);
}

void SlurmExecutor::ask_accounting(const std::vector<const Submission*>& of,
                                   const JobFacts& queued) {
  std::vector<TaskId> tasks;
  std::multimap<std::string, const Submission*> by_job;
  for (const auto* submission : of) {
    bool asks = false;
    std::string job = submission->job;
    for (std::size_t index = 0; index < submission->tasks(); ++index) {
      const TaskId task{submission->id, index};
      const auto in_queue = queued.find(task);
      if (in_queue != queued.end() && job.empty()) job = job_of(in_queue->second.job);
      if (in_queue != queued.end() && !has_ended(in_queue->second.state)) continue;
      if (job.empty() || final_.contains(task) || gone_.contains(task)) continue;
      const auto waiting = waiting_.find(task);
      if (waiting != waiting_.end() && clock_.steady() < waiting->second.next) continue;
      tasks.push_back(task);
      asks = true;
    }
    if (asks) by_job.emplace(job, submission);
  }
  if (tasks.empty()) return;
  std::vector<std::string> jobs;
  for (const auto& [job, submission] : by_job)
    if (jobs.empty() || jobs.back() != job) jobs.push_back(job);
  const auto rows = client_.accounting(jobs);
  if (!rows) {
    accounting_failed_ = clock_.steady();
    return;
  }
  const auto told = told_tasks(*rows, by_job);
  for (const auto& task : tasks) {
    const auto account = told.find(task);
    const auto in_queue = queued.find(task);
    settle(task, account == told.end() ? nullptr : &account->second,
           in_queue == queued.end() ? nullptr : &in_queue->second);
  }
}

Result<JobFacts> SlurmExecutor::poll(const std::vector<const Submission*>& of) {
  const auto rows = client_.queue(record::comment_of(""));
  if (!rows) return rows.error();
  auto facts = from_queue(of, *rows);
  // A user requeued an ended task.
  for (const auto& [task, fact] : facts) {
    if (has_ended(fact.state)) continue;
    final_.erase(task);
    gone_.erase(task);
    waiting_.erase(task);
  }
  if (accounting_may_answer()) ask_accounting(of, facts);
  for (const auto* submission : of) {
    const auto last = final_.lower_bound({submission->id, submission->tasks()});
    for (auto it = final_.lower_bound({submission->id, 0}); it != last; ++it)
      facts[it->first] = it->second;
  }
  return facts;
}

Status SlurmExecutor::cancel(const std::vector<JobFact>& tasks) {
  std::vector<std::string> jobs;
  for (const auto& task : tasks)
    if (!task.job.empty() && !has_ended(task.state)) jobs.push_back(task.job);
  return client_.cancel(jobs);
}

}  // namespace orch::launch
