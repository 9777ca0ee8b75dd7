#include "core/run/launch/local/supervisor_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/plain_file.h"
#include "core/base/room.h"
#include "core/base/sha256.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/machine_load.h"
#include "core/run/launch/local/supervisor_environment.h"

namespace orch::launch {
namespace {

constexpr int kTick = 100;              // milliseconds between checks of clocks and files
constexpr double kMemorySeconds = 0.5;  // interval of memory checks: each reads all of /proc
constexpr double kStopSeconds = 1;
constexpr double kPatienceSeconds = 30;  // for a full disk at the end

// The number of processes that the kernel has killed for lack of memory since boot.
std::uint64_t oom_kills() {
  const auto text = read_file("/proc/vmstat");
  if (!text) return 0;
  const auto at = text->find("\noom_kill ");
  return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + 10, nullptr, 10);
}

// The run's GPUs, in the syntax of nvidia-smi -i; empty: the run computes on cores.
std::string gpus_of(const plan::Run& run) {
  const auto own = run.job.environment.find("CUDA_VISIBLE_DEVICES");
  const auto* list = own == run.job.environment.end() ? nullptr : &own->second;
  const bool computes_on_cores = run.partition && run.partition->gpu.name == "cpu";
  if (computes_on_cores || visible_gpus(list) == 0) return "";
  const char* ours = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string said = list ? *list : ours ? ours : "";
  auto names = said.empty() ? std::vector<std::string>() : split(said, ',');
  for (auto i = std::ssize(names); said.empty() && i < run.gpus; ++i)
    names.push_back(std::to_string(i));
  names.resize(std::min(names.size(), static_cast<std::size_t>(run.gpus)));
  return join(names, ",");
}

const RankEnd* first_failure(const Ranks& ranks) {
  for (const auto& end : ranks.ended())
    if (end.code != 0) return &end;
  return nullptr;
}

}  // namespace

SupervisedRun::SupervisedRun(const SupervisorFolder& submission, std::size_t index,
                             const SupervisorOptions& options, SupervisorSignals& signals)
    : submission_(submission),
      index_(index),
      options_(options),
      signals_(signals),
      folder_(submission.path().parent_path().parent_path() / options.submission.runs.at(index)) {
  task_.start = clock_.now();
  task_.state = "RUNNING";
}

void SupervisedRun::say(const std::string& line) {
  fmt::print("orch: {}: {}\n", folder_.filename().string(), line);
  std::fflush(stdout);
  if (log_) log_->say(line);
}

// The only exit: the attempt is written first, then the task, so that a reader of the task's end
// sees both.
record::JobFact SupervisedRun::conclude(const char* word, const char* state, int code,
                                        const std::string& message) {
  say(fmt::format("{}: {}", state, message));
  task_.state = word;
  task_.reason = json_safe(message);
  task_.exit_code = code;
  task_.end = clock_.now();
  task_.gpu_hours =
      std::max(0.0, task_.end - task_.start) * static_cast<double>(run_.run.gpus) / 3600;
  if (attempt_) {
    attempt_->state = state;
    attempt_->message = message;
    attempt_->exit_code = code;
    attempt_->end = task_.end;
  }
  const double give_up = clock_.steady() + kPatienceSeconds;
  while ((attempt_ && !attempt_->write()) || !write_task(submission_.path(), index_, task_)) {
    if (clock_.steady() > give_up || submission_.is_deleted()) break;
    clock_.sleep(1);
  }
  return task_;
}

record::JobFact SupervisedRun::work() {
  auto claimed = LocalAttempt::claim(folder_);
  if (!claimed) return conclude("FAILED", "failed", 1, claimed.error().front().text());
  attempt_ = std::move(*claimed);
  log_ = std::make_unique<RankLog>(attempt_->folder() / "stdout.log");
  attempt_->start = task_.start;
  attempt_->job = task_job(text(own_supervisor_id()), options_.submission.array, index_);
  attempt_->submission = options_.submission.id;
  attempt_->nodes = {host_name()};
  try {
    if (auto end = prepare()) return *end;
    if (auto end = check_node()) return *end;
    return train();
  } catch (const std::exception& error) {
    return conclude("FAILED", "failed", 1, fmt::format("the supervisor failed: {}", error.what()));
  }
}

// The checks before the start, in the order of default.sbatch.
std::optional<record::JobFact> SupervisedRun::prepare() {
  auto run = read_local_run(folder_);
  if (run) {
    run_ = std::move(*run);
    attempt_->gpus = run_.run.gpus;
  }
  say(fmt::format("attempt {}, job {}, on {}", attempt_->number, attempt_->job,
                  attempt_->nodes.front()));
  attempt_->write();
  if (auto status = write_task(submission_.path(), index_, task_); !status)
    return conclude("FAILED", "failed", 1, orch::text(status.error()));
  if (stop_asked()) return conclude("FAILED", "stopped", 75, "the stop file is there");
  if (!run) return conclude("FAILED", "failed", 1, orch::text(run.error()));
  if (const auto file = changed_file(); !file.empty())
    return conclude("FAILED", "failed", 1, file + " changed since it was submitted");
  if (const auto errors = check_local_run(run_, options_.trainers); !errors.empty())
    return conclude("FAILED", "failed", 1,
                    fmt::format("{}; {}", errors.front().fact, errors.front().fix));
  began_ = clock_.steady();
  memory_limit_ = options_.memory_limit;
  if (memory_limit_ == 0)
    memory_limit_ = static_cast<std::uint64_t>(0.95 * static_cast<double>(host_room().bytes));
  oom_kills_ = oom_kills();
  return std::nullopt;
}

// The name of a file to be run that was changed: the run may have waited for days.
std::string SupervisedRun::changed_file() const {
  if (options_.submission.sums.empty()) return "";
  const auto& sums = options_.submission.sums.at(index_);
  const auto is_changed = [&](const char* name, const std::string& sum) {
    const auto text = read_file(folder_ / name);
    return (text ? sha256(*text) : "") != sum;
  };
  if (is_changed("run.json", sums.script)) return "run.json";
  return is_changed(kStart, sums.start) ? kStart : "";
}

std::optional<record::JobFact> SupervisedRun::check_node() {
  auto environment = rank_environment(run_, *attempt_, options_.submission.id);
  const auto check = environment.find("ORCH_NODE_CHECK");
  if (check == environment.end() || check->second.empty()) return std::nullopt;
  RankLog log(attempt_->folder() / "nodes.log");
  Ranks ranks(log);
  const std::vector<std::string> argv = {"/bin/bash", "-c", check->second};
  if (auto status = ranks.start({{argv, environment, {}, folder_}}); !status)
    return conclude("FAILED", "failed", 1, orch::text(status.error()));
  const double limit = clock_.steady() + options_.check_seconds;
  while (ranks.running()) {
    ranks.step(signals_.descriptor(), kTick);
    signals_.read();
    if (cancel_asked() || clock_.steady() > limit) ranks.signal(SIGKILL);
  }
  if (cancel_asked()) return conclude("CANCELLED", "cancelled", 143, "cancelled");
  if (!first_failure(ranks)) return std::nullopt;
  attempt_->bad_nodes = attempt_->nodes;
  return conclude("FAILED", "bad_nodes", 69,
                  attempt_->nodes.front() + ": the check of the site failed; see nodes.log");
}

record::JobFact SupervisedRun::train() {
  MachineLoad load(shell_, clock_, gpus_of(run_.run));
  Ranks ranks(*log_);
  const auto status = ranks.start(rank_commands(run_, *attempt_, options_.submission.id,
                                                trainer_words(run_, options_.trainers)));
  if (!status) return conclude("FAILED", "failed", 1, orch::text(status.error()));
  while (ranks.running()) {
    ranks.step(signals_.descriptor(), kTick);
    heed(ranks);
    note_event(load.look(), false);
  }
  ranks.clean_up();
  note_event(load.event(), true);
  return judge(ranks);
}

// Only after those of a trainer, whose last line may be incomplete: while it trains it continues
// it. A framework may write none.
void SupervisedRun::note_event(std::string line, bool all_ended) {
  if (line.empty()) return;
  const auto file = attempt_->folder() / "events.jsonl";
  const PlainFile before(file);
  const bool may_be_first = !run_.run.framework.empty() && !all_ended;
  if (!before.is_open() && !may_be_first) return;
  const auto last =
      before.is_open() ? before.read(std::max<std::int64_t>(0, before.size() - 1), 1) : "\n";
  if (last != "\n" && !all_ended) return;
  if (last != "\n" && !last.empty()) line.insert(0, "\n");
  const Descriptor to(
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
  if (to.is_open()) write_all(to.get(), line);
}

void SupervisedRun::heed(Ranks& ranks) {
  signals_.read();
  const double now = clock_.steady();
  heed_ends(ranks);
  if (why_ == RunStop::none) {
    if (cancel_asked())
      finish(ranks, RunStop::cancelled,
             submission_.is_deleted() ? "the folder of the submission was deleted" : "cancelled",
             SIGTERM);
    if (signals_.take_stop()) warn(ranks, "told to save and stop");
    if (now - looked_for_stop_ > kStopSeconds) {
      looked_for_stop_ = now;
      if (stop_asked()) warn(ranks, "the stop file is there");
    }
    heed_time(ranks);
    heed_memory(ranks);
  }
  if (why_ != RunStop::none && clock_.steady() > kill_at_) ranks.signal(SIGKILL);
}

void SupervisedRun::heed_time(Ranks& ranks) {
  if (!run_.time_limit || why_ != RunStop::none) return;
  const double elapsed = clock_.steady() - began_;
  if (elapsed > *run_.time_limit - static_cast<double>(run_.run.job.signal_seconds))
    warn(ranks, "the time limit is near");
  if (elapsed > *run_.time_limit)
    finish(ranks, RunStop::time,
           fmt::format("ended at the time limit of {:.0f} s before it had saved", *run_.time_limit),
           SIGTERM);
}

// The resident size counts shared pages once for each rank, so it is used only as a first test.
void SupervisedRun::heed_memory(Ranks& ranks) {
  const double now = clock_.steady();
  if (memory_limit_ == 0 || why_ != RunStop::none || now - looked_at_memory_ < kMemorySeconds)
    return;
  looked_at_memory_ = now;
  const auto processes = descendants(::getpid());
  std::uint64_t used = 0;
  for (const auto& process : processes) used += process.resident;
  if (used <= memory_limit_) return;
  used = 0;
  for (const auto& process : processes) used += proportional_memory(process);
  if (used <= memory_limit_) return;
  finish(ranks, RunStop::memory,
         fmt::format("out of memory: the ranks use {}, the limit is {}",
                     format_bytes(static_cast<double>(used)),
                     format_bytes(static_cast<double>(memory_limit_))),
         SIGKILL);
}

void SupervisedRun::heed_ends(Ranks& ranks) {
  if (why_ != RunStop::none || ranks.ended().empty()) return;
  if (const auto* failure = first_failure(ranks)) {
    finish(ranks, RunStop::failed, text(*failure), SIGTERM);
  } else if (ranks.running() && kill_at_ == 0) {
    kill_at_ = clock_.steady() + options_.wait_seconds;
  } else if (ranks.running() && clock_.steady() > kill_at_) {
    finish(ranks, RunStop::deserted,
           fmt::format("rank {} exited, and others continued for {:.0f} s",
                       ranks.ended().front().rank, options_.wait_seconds),
           SIGTERM);
  }
}

void SupervisedRun::warn(Ranks& ranks, const std::string& why) {
  if (warned_) return;
  warned_ = true;
  say("sending SIGUSR1: " + why);
  attempt_->signal = "USR1";
  attempt_->write();
  ranks.signal(SIGUSR1);
}

void SupervisedRun::finish(Ranks& ranks, RunStop why, const std::string& message, int number) {
  why_ = why;
  because_ = message;
  kill_at_ = clock_.steady() + options_.kill_after_seconds;
  if (why == RunStop::cancelled || why == RunStop::time) {
    attempt_->signal = "TERM";
    attempt_->write();
  }
  if (ranks.running()) say("ending the ranks: " + message);
  ranks.signal(number);
}

// As in default.sbatch: the file "finished" means that the trainer has done all steps. The trainer
// exits with 0 also when it was told to stop and has saved; without either, its events decide.
record::JobFact SupervisedRun::judge(const Ranks& ranks) {
  const auto* failure = first_failure(ranks);
  const bool told = warned_ || why_ != RunStop::none;
  if (!failure && is_there(attempt_->folder() / "finished"))
    return conclude("COMPLETED", "finished", 0, "phase 1 of 1 is complete");
  if (!failure && !told)
    return conclude("FAILED", "left", 76,
                    "the trainer exited with code 0 without reporting that it is done");
  const int code = failure ? failure->code : 0;
  if (why_ == RunStop::cancelled)
    return conclude("CANCELLED", "cancelled", code ? code : 143, because_);
  if (why_ == RunStop::time) return conclude("TIMEOUT", "cancelled", code ? code : 143, because_);
  if (why_ == RunStop::memory) return conclude("OUT_OF_MEMORY", "failed", 137, because_);
  if (!failure && why_ == RunStop::none) return stopped();
  if (why_ == RunStop::deserted) return conclude("FAILED", "failed", code ? code : 1, because_);
  const auto cause = text(*failure);
  if (failure->signal == SIGKILL && oom_kills() > oom_kills_)
    return conclude("OUT_OF_MEMORY", "failed", code, cause + ": the kernel was out of memory");
  return conclude("FAILED", "failed", code, cause + "; see stdout.log");
}

record::JobFact SupervisedRun::stopped() {
  if (stop_asked()) return conclude("FAILED", "stopped", 75, "the stop file is there");
  return conclude("FAILED", "stopped", 75, "saved before the time limit, with more to do");
}

bool SupervisedRun::stop_asked() const {
  return is_there(folder_ / "stop") || is_there(folder_.parent_path() / "stop");
}

bool SupervisedRun::cancel_asked() {
  return signals_.terminated() || submission_.asks_to_cancel(index_);
}

}  // namespace orch::launch
