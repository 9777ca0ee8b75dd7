#pragma once

#include <atomic>
#include <deque>

#include "core/run/follow/campaign.h"
#include "core/run/follow/follow.h"
#include "core/run/follow/submitter.h"
#include "tests/place.h"
#include "tests/test.h"

namespace orch::follow {

class SteppedClock : public Clock {
 public:
  double now() const override { return 1.7e9 + time; }
  double steady() const override { return time; }
  void sleep(double seconds) override {
    time += seconds;
    slept += seconds;
    if (on_sleep) on_sleep();
  }
  double time = 0;
  double slept = 0;
  std::function<void()> on_sleep;
};

// A scheduler in memory: accepts and reports what the test defines.
class FakeExecutor : public launch::Executor {
 public:
  struct Job {
    std::string id;
    std::string submission;
    std::vector<std::string> runs;
    std::string after;
    std::vector<std::string> exclude;
    int phase = 1;
    int at_a_time = 0;
    std::string after_any;
    std::int64_t minutes = 0;
  };
  std::string_view name() const override { return called; }
  std::size_t largest_array() override { return largest; }
  Status test(const launch::SubmitRequest& request) override {
    tested.push_back(request.script.string());
    if (!test_refusal.empty()) return Error{"sbatch", test_refusal, ""};
    return {};
  }
  launch::SubmitOutcome submit(const launch::SubmitRequest& request) override {
    const auto& submission = *request.submission;
    CHECK(fs::exists(request.folder / "submission.json"));  // on disk before the call
    using Reply = launch::SubmitOutcome::Reply;
    auto outcome = Reply::accepted;
    if (!script.empty()) {
      outcome = script.front();
      script.pop_front();
    }
    if (room && submission.runs.size() > *room) outcome = Reply::no_room;
    const bool takes = outcome == Reply::accepted || (outcome == Reply::unclear && took_it);
    if (takes) {
      jobs.push_back({std::to_string(next++), submission.id, submission.runs, request.after,
                      request.exclude, submission.phase, request.at_a_time, request.after_any,
                      request.minutes});
      if (room) *room -= submission.runs.size();
      for (std::size_t i = 0; i < submission.runs.size(); ++i)
        facts[{submission.id, i}] =
            fact("PENDING", "Resources",
                 submission.array ? fmt::format("{}_{}", jobs.back().id, i) : jobs.back().id);
    }
    return {outcome, outcome == Reply::accepted ? jobs.back().id : "", "as told"};
  }
  Result<std::optional<std::string>> find(const record::Submission& submission) override {
    ++finds;
    if (silent) return Error{"slurm", "does not answer", ""};
    for (const auto& job : jobs)
      if (job.submission == submission.id) return std::optional(job.id);
    return std::optional<std::string>();
  }
  Result<record::JobFacts> poll(const std::vector<const record::Submission*>&) override {
    ++polls;
    if (on_poll) on_poll();
    if (silent) return Error{"slurm", "does not answer", ""};
    return facts;
  }
  Status cancel(const std::vector<record::JobFact>& tasks) override {
    if (on_cancel) on_cancel();
    for (const auto& task : tasks) cancelled.push_back(task.job);
    if (cancel_fails) return Error{"scancel", "does not answer", ""};
    return {};
  }
  static record::JobFact fact(const std::string& state, const std::string& reason = "",
                              const std::string& job = "1") {
    record::JobFact out;
    out.state = state;
    out.reason = reason;
    out.job = job;
    return out;
  }

  std::string called = "slurm";
  std::deque<launch::SubmitOutcome::Reply> script;
  bool took_it = false;
  bool silent = false;
  std::function<void()> on_poll, on_cancel;
  bool cancel_fails = false;
  std::size_t largest = 1000;
  std::optional<std::size_t> room;  // tasks; none: no limit
  std::string test_refusal;
  int next = 100;
  int finds = 0;
  int polls = 0;
  std::vector<Job> jobs;
  record::JobFacts facts;
  std::vector<std::string> cancelled;
  std::vector<std::string> tested;
};

// A folder of run folders, and a campaign over it.
class FollowFolder : public ::TestFolder {
 public:
  FollowFolder() { fs::create_directories(root() / "sweep"); }

  void write(const fs::path& name, const std::string& text) const { file("sweep" / name, text); }
  std::string add_run(int number, int phases = 1, const std::string& words = "--nodes=1") const {
    const auto id = fmt::format("gpt-ddp-{:08x}", number);
    write(id + "/run.json", R"({"version": 1, "experiment": "sweep", "strategy": "ddp",
      "backend": "ddp", "cluster": "jean-zay", "partition": "v100-32g", "gpus": 4, "nodes": 1,
      "global_batch": 64, "tokens": 1e6, "steps": 10, "data_parallel": 4, "accumulate": 16,
      "model": {"family": "gpt", "layers": 1, "hidden": 8, "heads": 1, "vocab": 8, "seq": 2048}})");
    write(id + "/estimate.json", R"({"version": 1, "fit": "fits", "peak_memory_bytes": 1e9,
      "step_seconds": 900, "step_low": 800, "step_high": 1000, "tokens_per_second": 145.6,
      "days_per_100b_tokens": 7949, "gpu_hours": 99})");
    for (int phase = 1; phase <= phases; ++phase)
      write(fmt::format("{}/job{}.sbatch", id, phase == 1 ? "" : fmt::format("-{}", phase)),
            fmt::format("#!/bin/bash\n#SBATCH --job-name={}\n#SBATCH {}\necho\n", id, words));
    return id;
  }
  // The job script's report.
  void status(const std::string& run, int attempt, const std::string& state,
              const std::string& submission, int phase = 1, const std::string& message = "") const {
    const auto end = state == "running" ? "null" : "\"2023-11-14T23:13:20Z\"";
    write(fmt::format("{}/attempts/{}/status.json", run, attempt),
          fmt::format(R"({{"version": 1, "state": "{}", "message": "{}", "job_id": "100",
          "submission": "{}", "restart_count": 0, "phase": {}, "phases": 1, "gpus": 4,
          "start": "2023-11-14T22:13:20Z", "end": {}, "signal": null, "exit_code": null,
          "nodes": ["v100-1"], "bad_nodes": []}})",
                      state, message, submission, phase, end));
  }

  FollowEnvironment world() {
    FollowEnvironment out;
    out.slurm = &slurm;
    out.clock = &clock;
    out.say = [this](const std::string& line) { said.push_back(line); };
    out.interrupted = [this] { return interrupted; };
    out.log_progress = [this](const fs::path&, double) { return log; };
    out.confession = [this](const fs::path&) { return log_says; };
    return out;
  }
  Campaign campaign(FollowLimits options = {}) {
    return Campaign(root(), "sweep", world(), options);
  }

  Campaign opened(FollowLimits options = {}) {
    auto out = campaign(options);
    REQUIRE(out.open());
    return out;
  }

  // Like orch run: requests all runs and submits what is due.
  SubmitResult submit_all(Campaign& campaign, bool expect_ok = true) {
    REQUIRE(campaign.begin(FileLock::Wait::yes));
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < campaign.runs().size(); ++i) all.push_back(i);
    REQUIRE(campaign.want(all));
    Submitter submitter(campaign);
    const auto status = submitter.submit(campaign.due());
    CHECK(bool(status) == expect_ok);
    campaign.end();
    return submitter.handed();
  }

  // As if orch had been killed before it recorded the answers.
  void forget_answers() const {
    for (const auto& entry : fs::directory_iterator(root() / "sweep/submissions")) {
      fs::remove(entry.path() / "job");
      fs::remove(entry.path() / "answer");
    }
  }

  SteppedClock clock;
  FakeExecutor slurm;
  std::vector<std::string> said;
  bool interrupted = false;
  // The progress in the log of an attempt without events.
  std::optional<record::TrainingProgress> log;
  record::FailureReport log_says;
};

// One run, submitted.
struct One {
  FollowFolder place;
  std::string run = place.add_run(1);
  Campaign campaign;

  explicit One(FollowLimits options = {}) : campaign(place.campaign(options)) {
    place.submit_all(campaign);
    look();
  }
  record::TaskId task() const { return {campaign.ledger().all().back().submission.id, 0}; }
  const FollowedRun& view() const { return campaign.runs()[0]; }
  void look() { campaign.refresh(); }
  void slurm_says(const std::string& state, const std::string& reason = "") {
    place.slurm.facts[task()] = FakeExecutor::fact(state, reason, "100");
  }
  void cancel() {
    REQUIRE(campaign.begin(FileLock::Wait::yes));
    REQUIRE(campaign.cancel({0}));
    campaign.end();
  }
  std::size_t carried_on() {
    SubmitResult handed;
    REQUIRE(carry_on(campaign, FileLock::Wait::yes, {}, handed));
    return handed.runs;
  }
  void gone() { place.slurm.facts.clear(); }
  void script_says(int attempt, const std::string& state) {
    place.status(run, attempt, state, task().submission);
  }
};

}  // namespace orch::follow
