// The time that orch itself adds to SLURM's: 5,000 runs submitted as arrays, and one poll of them.
// The scheduler answers from memory, so all measured time is ours. Limits: 1 ms per run, 100 MB.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/app/session.h"
#include "core/run/follow/campaign.h"
#include "core/run/follow/submitter.h"
#include "core/run/launch/slurm/slurm_executor.h"
#include "core/show/tables/status.h"

namespace {

using namespace orch;

constexpr int kRuns = 5000;

// SLURM's commands, answered at once.
class InstantSlurm : public Shell {
 public:
  Result<Output> run(const Command& command) override {
    const auto& program = command.argv.front();
    Output output;
    if (program == "sbatch") {
      ++jobs_;
      for (const auto& word : command.argv) {
        if (word.starts_with("--comment=")) comment_ = word.substr(10);
        if (word.starts_with("--array=0-")) add_tasks(std::stoi(word.substr(10)));
      }
      std::ofstream(command.output) << jobs_ << "\n";
    } else if (program == "squeue") {
      output.out = queue_;
    } else if (program == "scontrol") {
      output.out = "MaxArraySize = 1001\nMaxJobCount = 10000\n";
    } else if (program == "sacct") {
      output.err = "Slurm accounting storage is disabled\n";
      output.code = 1;
    }
    return output;
  }

 private:
  void add_tasks(int last) {
    for (int task = 0; task <= last; ++task)
      queue_ += fmt::format("{}|{}|PENDING|0|0|N/A|N/A|0:00||1|Resources|cpu=1|gres:gpu:1|{}\n",
                            jobs_, task, comment_);
  }
  int jobs_ = 0;
  std::string comment_;
  std::string queue_;
};

void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

// Run folders as a plan leaves them.
class FollowedRuns {
 public:
  FollowedRuns() : root_(fs::temp_directory_path() / fmt::format("orch-bench-{}", ::getpid())) {
    for (int i = 0; i < kRuns; ++i) {
      const auto folder = root_ / "sweep" / fmt::format("gpt-1.3b-ddp-1gpu-dp1-mb1-{:08x}", i);
      fs::create_directories(folder);
      write(folder / "run.json", R"({"version": 1, "experiment": "sweep", "strategy": "ddp",
        "backend": "ddp", "cluster": "jean-zay", "partition": "v100-32g", "gpus": 1, "nodes": 1,
        "global_batch": 64, "tokens": 1e6, "steps": 10, "data_parallel": 1, "accumulate": 64,
      "model": {"family": "gpt", "layers": 1, "hidden": 8, "heads": 1, "vocab": 8, "seq": 2048}})");
      write(folder / "estimate.json", R"({"version": 1, "fit": "fits", "peak_memory_bytes": 1e9,
        "step_seconds": 900, "step_low": 800, "step_high": 1000, "tokens_per_second": 145.6,
        "days_per_100b_tokens": 7949, "gpu_hours": 99})");
      write(folder / "job.sbatch", "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:1\n");
    }
  }
  ~FollowedRuns() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void forget_submissions() const {
    fs::remove_all(root_ / "sweep/submissions");
    fs::remove(root_ / "sweep/wanted");
    fs::remove(root_ / "index.jsonl");
  }
  const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

struct Following {
  InstantSlurm shell;
  SystemClock clock;
  launch::SlurmExecutor slurm{shell, clock};
  follow::Campaign campaign;

  explicit Following(const FollowedRuns& runs) : campaign(runs.root(), "sweep", world(), {}) {}
  follow::FollowEnvironment world() {
    follow::FollowEnvironment out;
    out.slurm = &slurm;
    out.clock = &clock;
    out.say = [](const std::string&) {};
    out.interrupted = [] { return false; };
    return out;
  }
  void submit() {
    if (!campaign.begin(FileLock::Wait::yes)) std::exit(1);
    std::vector<std::size_t> all(campaign.runs().size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    follow::Submitter submitter(campaign);
    if (!campaign.want(all) || !submitter.submit(all)) std::exit(1);
    if (submitter.handed().runs != kRuns) std::exit(1);
    campaign.end();
  }
};

void count_each(benchmark::State& state) {
  state.counters["per_run"] = benchmark::Counter(
      kRuns, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}

// Reads the folders, records the wanted runs and five submissions, and submits them.
void submit_5000_runs(benchmark::State& state) {
  const FollowedRuns runs;
  for (auto _ : state) {
    state.PauseTiming();
    runs.forget_submissions();
    state.ResumeTiming();
    Following(runs).submit();
  }
  count_each(state);
}

// One squeue for all, judged, and the picture drawn, as in watch.
void poll_5000_jobs(benchmark::State& state) {
  const FollowedRuns runs;
  runs.forget_submissions();
  Following following(runs);
  following.submit();
  for (auto _ : state) {
    following.campaign.refresh();
    const auto now = app::standings(following.campaign, {"sweep", {}});
    benchmark::DoNotOptimize(tables::watch_screen(now, {}, 40));
  }
  if (following.campaign.runs().front().record.state != record::RunState::pending) std::exit(1);
  count_each(state);
}

BENCHMARK(submit_5000_runs)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Name("follow: submit and record 5,000 runs as arrays (aim 1 ms per run, 100 MB)");
BENCHMARK(poll_5000_jobs)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Name("follow: one look at 5,000 jobs, drawn (aim 1 ms per run, 100 MB)");

}  // namespace
