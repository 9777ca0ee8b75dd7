// Counts failures of the machine and the GPU-hours in which they happened. sacct knows that a node
// died, but not why a program failed; the attempts of our own runs know both. A job that is in
// both is one job: its hours are those of sacct, and its failure counts if either saw one.
#include "core/app/past_failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/app/run_logs.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/run_json.h"
#include "core/record/verdict.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/submissions.h"

namespace orch::app {
namespace {

using launch::JobHistory;
using launch::PastJob;
using record::Attempt;
using record::Failure;

constexpr double kClocks = 120;  // clocks of a node and of the controller differ by less

bool is_run_folder(const fs::path& folder) { return is_there(folder / "run.json"); }

// Run folders at most two folders below.
void add_runs(const fs::path& folder, int depth, std::vector<fs::path>& out) {
  if (is_run_folder(folder)) {
    out.push_back(folder);
    return;
  }
  std::error_code ignored;
  for (const auto& entry : entries_of(folder))
    if (depth > 0 && !entry.filename().string().starts_with('.') &&
        fs::is_directory(entry, ignored))
      add_runs(entry, depth - 1, out);
}

// Why an attempt ended by itself: by its own report and its log.
Failure judged(const fs::path& place, const Attempt& attempt, RunLogs& logs) {
  if (contains({"finished", "stopped", "cancelled"}, attempt.state)) return Failure::none;
  record::Evidence evidence;
  evidence.attempts = {&attempt};
  evidence.confession = [&] { return logs.confession(place); };
  return record::judge(evidence).failure;
}

// The wait of the first attempt of each submission; later ones waited for their own end.
class SubmissionTimes {
 public:
  explicit SubmissionTimes(const fs::path& experiment_folder) {
    Errors damaged;
    const auto all = store::read_submissions(experiment_folder, &damaged);
    if (!all) return;
    for (const auto& each : *all)
      if (each.submission.executor == "slurm" && each.submission.after.empty())
        times_[each.submission.id] = each.submission.time;
  }
  double take_wait(const Attempt& attempt) {
    const auto found = times_.find(attempt.submission);
    if (found == times_.end() || !told_.insert(attempt.submission).second) return -1;
    return attempt.start - found->second;
  }

 private:
  std::map<std::string, double> times_;
  std::set<std::string> told_;
};

Result<std::vector<PastAttempt>> attempts_of(const fs::path& folder, RunLogs& logs) {
  auto live = store::read_live_run(folder);
  if (!live) return live.error();
  if (auto status = store::read_state(folder, *live); !status) return status.error();
  const auto attempts = store::read_attempts(folder);
  if (!attempts) return attempts.error();
  SubmissionTimes submitted(folder.parent_path());
  std::vector<PastAttempt> out;
  for (std::size_t i = 0; i < attempts->size(); ++i) {
    const auto& attempt = (*attempts)[i];
    const bool last = i + 1 == attempts->size(), open = attempt.state == "running";
    // The script of a node that died did not record its end, or only that it was told to end.
    const bool ended = open || attempt.state == "cancelled";
    auto& past = out.emplace_back();
    past.run = folder.string();
    past.job = attempt.job;
    past.start = attempt.start;
    past.end = attempt.end > 0 ? attempt.end : attempt.seen;
    past.gpus = attempt.gpus > 0 ? attempt.gpus : live->gpus();
    past.again = ended && !last && !attempt.job.empty() && attempt.job == (*attempts)[i + 1].job;
    past.wait = submitted.take_wait(attempt);
    const auto& hang = live->cancelled_hang;
    // A job that was requeued has several attempts of one submission: the last one hung.
    const bool final = last || (*attempts)[i + 1].submission != attempt.submission;
    if (hang && final && hang->submission == attempt.submission && attempt.state != "finished")
      past.failure = Failure::hang;
    else if (last && live->record.state == record::RunState::failed)
      past.failure = live->record.failure;
    else if (past.again)
      past.failure = Failure::node;
    else if (open)
      past.failure = last ? Failure::none : Failure::lost;
    else
      past.failure = judged(folder / "attempts" / std::to_string(attempt.number), attempt, logs);
  }
  return out;
}

const plan::Partition* partition_of(const PastJob& job, const plan::Cluster& cluster) {
  for (const auto& partition : cluster.partitions) {
    const auto& name = partition.slurm.partition;
    if (job.partition == (name.empty() ? partition.name : name)) return &partition;
  }
  const bool any = job.partition.empty() || (cluster.partitions.size() == 1 &&
                                             cluster.partitions.front().slurm.partition.empty());
  return any ? &cluster.partitions.front() : nullptr;
}

// Counts what is left out, in the order of its first occurrence.
class UncountedList {
 public:
  void add(std::string what, const std::string& why, std::size_t count = 1) {
    const auto found = std::ranges::find(list_, what, &UncountedJobs::what);
    if (found != list_.end())
      found->count += count;
    else if (count > 0)
      list_.push_back({std::move(what), count, why});
  }
  std::vector<UncountedJobs> take() { return std::move(list_); }

 private:
  std::vector<UncountedJobs> list_;
};

void extend(FailureSource& source, double start, double end) {
  if (source.jobs++ == 0) source.from = start;
  source.from = std::min(source.from, start);
  source.to = std::max(source.to, end);
}

bool is_node_failure(const PastJob& job) { return contains({"NODE_FAIL", "BOOT_FAIL"}, job.state); }

class FailureCount {
 public:
  FailureCount(const JobHistory& history, const plan::Cluster& cluster,
               const std::string& partition)
      : history_(history), cluster_(cluster), partition_(partition) {
    sacct_.kind = "sacct";
    ours_.kind = "attempts";
    const auto* own = cluster.find(partition);
    out_.wait_gpus = own ? own->gpus_per_node : cluster.partitions.front().gpus_per_node;
  }

  PastFailures count(const std::vector<PastAttempt>& attempts) {
    for (const auto& job : history_.jobs)
      if (job.start > 0 && is_node_failure(job) && is_here(job)) lost_node_.insert(whole(job));
    for (const auto& job : history_.jobs) add(job);
    if (sacct_.jobs > 0 && !out_.waits.empty()) out_.waits_of = "sacct";
    for (const auto& attempt : attempts) add(attempt);
    uncounted_.add("lines of steps", "a step is a part of its job", history_.steps);
    uncounted_.add("lines about the same start", "each start counts once", history_.repeated);
    uncounted_.add("lines that cannot be read", "they do not have the fields of the header",
                   history_.unreadable);
    out_.uncounted = uncounted_.take();
    for (const auto* source : {&sacct_, &ours_})
      if (source->jobs > 0 || source->failed() > 0) out_.sources.push_back(*source);
    return std::move(out_);
  }

 private:
  bool is_here(const PastJob& job) const {
    const auto* found = partition_of(job, cluster_);
    return partition_.empty() || (found && found->name == partition_);
  }

  // Nothing: the job is not counted at all.
  std::optional<std::int64_t> gpus_of(const PastJob& job) {
    if (!is_here(job)) {
      uncounted_.add("jobs of other partitions", "they are not of " + partition_);
      return std::nullopt;
    }
    const auto* found = partition_of(job, cluster_);
    auto gpus = job.gpus;
    if (!history_.tells_gpus() && found) gpus = job.nodes * found->gpus_per_node;
    if (gpus > 0) return gpus;
    uncounted_.add("jobs without GPUs", "the rate is per GPU-hour");
    return std::nullopt;
  }

  // A heterogeneous job, 123, has a line for each component: 123+0, 123+1.
  using WholeJob = std::pair<std::string, double>;  // and its start
  static WholeJob whole(const PastJob& job) {
    return {job.job.substr(0, job.job.find('+')), job.start};
  }

  void add(const PastJob& job) {
    if (job.start <= 0) return uncounted_.add("jobs that did not start", "they held no GPU");
    constexpr double kRunaway = 60 * 24;  // hours; no limit of a job is so long
    if (!job.ended && job.hours() > kRunaway)
      return uncounted_.add("jobs that run for more than 60 days",
                            "sacctmgr show runawayjobs lists those whose end was lost");
    const auto gpus = gpus_of(job);
    if (!gpus) return;
    if (job.hours() > 0) started_.emplace(job.raw.empty() ? job.job : job.raw, &job);
    sacct_.gpu_hours += job.hours() * static_cast<double>(*gpus);
    if (counted_.insert(whole(job)).second) add_whole(job, *gpus);
  }

  // A job, or the first component of one: all wait together, and end together when one has failed.
  void add_whole(const PastJob& job, std::int64_t gpus) {
    extend(sacct_, job.start, job.end);
    if (gpus >= out_.wait_gpus && job.waiting > 0 && job.start >= job.waiting && job.hours() > 0)
      out_.waits.push_back(job.start - job.waiting);
    if (lost_node_.contains(whole(job)))
      ++sacct_.failures[is_node_failure(job) ? job.state : "NODE_FAIL"];
    else if (job.state == "FAILED")
      uncounted_.add("failures of state FAILED", "sacct cannot say whose fault it was");
    else if (contains({"OUT_OF_MEMORY", "TIMEOUT", "CANCELLED", "PREEMPTED", "DEADLINE"},
                      job.state))
      uncounted_.add("ends of state " + job.state, "it is not a failure of the machine");
  }

  // Where sacct has an attempt: the same job in the same time.
  const PastJob* find(const PastAttempt& attempt) const {
    const auto [begin, end] = started_.equal_range(attempt.job);
    for (auto each = begin; each != end; ++each)
      if (each->second->start <= attempt.start + kClocks &&
          attempt.start <= each->second->end + kClocks)
        return each->second;
    return nullptr;
  }

  void add(const PastAttempt& attempt) {
    const auto* job = find(attempt);
    if (!job) {
      if (attempt.hours() <= 0)
        return uncounted_.add("attempts without a start or an end", "their hours are unknown");
      extend(ours_, attempt.start, attempt.end);
      ours_.gpu_hours += attempt.hours() * static_cast<double>(attempt.gpus);
      add_wait(attempt);
    } else {
      uncounted_.add("attempts that sacct has too", "their hours count once, as those of sacct");
    }
    add_end(attempt, job && (attempt.again || is_node_failure(*job)));
  }

  // Where sacct has waits, they are of the controller's own clock and of all jobs.
  void add_wait(const PastAttempt& attempt) {
    if (out_.waits_of == "sacct" || attempt.gpus < out_.wait_gpus || attempt.wait < 0) return;
    out_.waits.push_back(attempt.wait);
    out_.waits_of = "our own attempts";
  }

  void add_end(const PastAttempt& attempt, bool counted) {
    const auto failure = attempt.failure;
    if (failure == Failure::none || counted) return;
    const std::string name(record::name(failure));
    if (is_of_machine(failure))
      ++ours_.failures[name];
    else if (failure == Failure::lost)
      uncounted_.add("attempts without a trace of their end", "the output of sacct may have it");
    else
      uncounted_.add("attempts that failed: " + name, "it is not a failure of the machine");
  }

  const JobHistory& history_;
  const plan::Cluster& cluster_;
  const std::string& partition_;
  std::multimap<std::string, const PastJob*> started_;  // by the id that the job sees
  std::set<WholeJob> lost_node_, counted_;
  FailureSource sacct_, ours_;
  UncountedList uncounted_;
  PastFailures out_;
};

}  // namespace

bool is_of_machine(Failure failure) {
  return failure == Failure::node || failure == Failure::nccl || failure == Failure::hang;
}

std::size_t FailureSource::failed() const {
  std::size_t sum = 0;
  for (const auto& [kind_of_failure, count] : failures) sum += count;
  return sum;
}

double PastFailures::gpu_hours() const {
  double sum = 0;
  for (const auto& source : sources) sum += source.gpu_hours;
  return sum;
}

std::size_t PastFailures::failed() const {
  std::size_t sum = 0;
  for (const auto& source : sources) sum += source.failed();
  return sum;
}

double PastFailures::from() const {
  double first = 0;
  for (const auto& source : sources)
    if (source.from > 0 && (first == 0 || source.from < first)) first = source.from;
  return first;
}

double PastFailures::to() const {
  double last = 0;
  for (const auto& source : sources) last = std::max(last, source.to);
  return last;
}

Result<std::vector<PastAttempt>> read_past_attempts(const fs::path& folder,
                                                    const std::string& cluster,
                                                    const std::string& partition,
                                                    std::size_t& of_others) {
  std::vector<fs::path> runs;
  add_runs(folder, 2, runs);
  if (runs.empty())
    return Error{printable(folder.string()), "contains no run folder",
                 "give a folder such as runs/NAME, or a file with the output of sacct"};
  RunLogs logs;
  std::vector<PastAttempt> out;
  Errors errors;
  for (const auto& run : runs) {
    const auto planned = plan::read_run(run / "run.json");
    if (!errors.add(planned)) continue;
    if (planned->cluster->name != cluster ||
        (!partition.empty() && planned->partition->name != partition)) {
      ++of_others;
      continue;
    }
    auto attempts = attempts_of(run, logs);
    if (errors.add(attempts)) std::ranges::move(*attempts, std::back_inserter(out));
  }
  if (!errors.empty()) return errors;
  return out;
}

PastFailures count_failures(const launch::JobHistory& history,
                            const std::vector<PastAttempt>& attempts, const plan::Cluster& cluster,
                            const std::string& partition) {
  return FailureCount(history, cluster, partition).count(attempts);
}

}  // namespace orch::app
