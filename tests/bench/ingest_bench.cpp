// The time to read a log: a synthetic one of Megatron-LM, each iteration with its line of timers,
// compared with `grep -c iteration` on the same file. ORCH_BENCH_LOG_MB sets its size (2000).
// Limits: 500 MB/s on one core, and memory that does not grow with the file.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/counter_random.h"
#include "core/record/ingest/ingest.h"

namespace {

using namespace orch;

// Created on first use, removed at the end.
struct Log {
  std::string folder =
      (fs::temp_directory_path() / fmt::format("orch-bench-{}", ::getpid())).string();
  std::string file = folder + "/megatron.out";

  Log() {
    const char* asked = std::getenv("ORCH_BENCH_LOG_MB");
    const auto size = static_cast<std::size_t>(asked ? std::atol(asked) : 2000) * 1'000'000;
    fs::create_directories(folder);
    std::ofstream out(file);
    std::string text =
        "using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4, "
        "pipeline-model-parallel size: 16 \n";
    std::size_t written = 0;
    for (std::uint64_t step = 1; written < size; ++step) {
      add(text, step);
      if (text.size() < 1'000'000) continue;
      out << text;
      written += text.size();
      text.clear();
    }
  }
  ~Log() { fs::remove_all(folder); }

 private:
  static void add(std::string& text, std::uint64_t step) {
    const auto random = [&](std::uint64_t i) { return counter_random::uniform(step, i); };
    fmt::format_to(
        std::back_inserter(text),
        " iteration {:8}/ 9999999 | consumed samples: {:12} | elapsed time per iteration (ms): "
        "{:.1f} | learning rate: {:.3E} | global batch size:  2048 | lm loss: {:.6E} | loss scale: "
        "1.0 | grad norm: {:.3f} | num zeros: 0.0 | number of skipped iterations:   0 | number of "
        "nan iterations:   0 |\n",
        step, step * 2048, 1e5 + 1e3 * random(1), 1e-4 * random(2), 2 + random(3), random(4));
    fmt::format_to(std::back_inserter(text),
                   "time (ms) | forward-compute: {:.2f} | forward-recv: {:.2f} | backward-compute: "
                   "{:.2f} | backward-send-forward-recv: {:.2f} | backward-params-all-reduce: "
                   "{:.2f} | optimizer: {:.2f} | batch-generator: {:.2f}\n",
                   3e4 + random(5), 1e3 + random(6), 6e4 + random(7), 2e3 + random(8),
                   26 + random(9), 50 + random(10), 180 + random(11));
  }
};

const Log& log() {
  static const Log made;
  return made;
}

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

ingest::Patterns patterns() {
  std::vector<fs::path> files;
  for (const auto* name : {"slurm", "cuda", "huggingface", "deepspeed", "megatron"})
    files.push_back(fs::path(ORCH_SOURCE_DIR) / "templates/logs" / (std::string(name) + ".lua"));
  auto loaded = ingest::Patterns::load(files);
  if (loaded) return std::move(*loaded);
  std::fprintf(stderr, "%s\n", text(loaded.error()).c_str());
  std::exit(1);
}

void count_bytes(benchmark::State& state) {
  using benchmark::Counter;
  state.counters["MB/s"] = Counter(static_cast<double>(fs::file_size(log().file)) / 1e6,
                                   Counter::kIsIterationInvariantRate);
}

void read_log(benchmark::State& state) {
  const auto rules = patterns();
  const auto& file = log().file;
  const auto before = peak_kilobytes();
  for (auto _ : state) {
    const auto found = ingest::ingest({file}, rules);
    if (!found || found->runs.size() != 1) std::exit(1);
  }
  count_bytes(state);
  state.counters["MB more"] = static_cast<double>(peak_kilobytes() - before) / 1e3;
}

// Its time is that of children: the shell and grep.
void grep_log(benchmark::State& state) {
  // Into a file: with /dev/null it would stop at the first line.
  const auto command = fmt::format("grep -c iteration '{0}' >'{0}.count'", log().file);
  for (auto _ : state) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    if (std::system(command.c_str()) != 0) std::exit(1);
    ::getrusage(RUSAGE_CHILDREN, &after);
    const auto seconds = [](const rusage& usage) {
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    };
    state.SetIterationTime(seconds(after) - seconds(before));
  }
  count_bytes(state);
}

// MB/s are by the processor's time: what a core does when it is not shared.
BENCHMARK(read_log)
    ->Name("ingest: a log of Megatron-LM (aim 500 MB/s)")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(grep_log)
    ->Name("ingest: grep -c iteration on it")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
