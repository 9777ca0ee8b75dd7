// The time of a search: evaluations per second of one core, and the whole space for which other
// searches publish times (11.28 million configurations there), with its memory.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/price/search/search.h"

extern char** environ;

namespace {

const std::string kFolder = ORCH_SOURCE_DIR "/tests/bench/";

template <class T>
T must(orch::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", orch::text(result.error()).c_str());
  std::exit(1);
}

// One thread searches; the rate is by its own CPU time, independent of the machine's load.
void search_with_one_thread(benchmark::State& state, const std::string& file,
                            const orch::search::OpenFields& opening) {
  auto app = must(orch::app::App::create());
  const auto experiment = must(app->loader().load(file));
  const auto space =
      must(orch::search::SearchSpace::make(experiment, app->find_cluster(), opening));
  orch::search::SearchOptions options;
  options.threads = 1;
  orch::search::SearchResult found;
  double evaluated = 0;
  for (auto _ : state) {
    found = must(orch::search::search(*space, app->backends(), options));
    evaluated += found.evaluated;
  }
  state.counters["evaluated"] = found.evaluated;
  state.counters["priced"] = found.oom + found.fitting;
  state.counters["evaluations/s"] = benchmark::Counter(evaluated, benchmark::Counter::kIsRate);
}

void all_priced(benchmark::State& state) {
  search_with_one_thread(state, kFolder + "priced.lua",
                         {{"pipeline_parallel", "interleave", "stage_partition"}, {}});
}

void mixed(benchmark::State& state) {
  search_with_one_thread(state, kFolder + "space.lua", {{}, {"flash_attention", "optimizer"}});
}

// The program in a separate process, to know its memory.
void whole_space(benchmark::State& state) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "orch";
  const auto output = std::filesystem::temp_directory_path() / "orch_bench_search.json";
  const auto file = kFolder + "space.lua";
  // All fields except the software and its debugging options.
  std::vector<std::string> words{program,  "search",   file,     "--open",          "all",
                                 "--keep", "engine",   "--keep", "launch_blocking", "--threads",
                                 "2",      "--format", "json"};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  rusage usage{};
  for (auto _ : state) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    pid_t child = 0;
    int status = 1;
    if (posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ) != 0 ||
        wait4(child, &status, 0, &usage) != child || status != 0)
      std::exit(1);
    posix_spawn_file_actions_destroy(&actions);
  }
  const auto text = must(orch::read_file(output));
  std::filesystem::remove(output);
  const auto number = [&](const std::string& key) {
    const auto at = text.find("\"" + key + "\": ");
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + key.size() + 4, nullptr);
  };
  const double seconds = static_cast<double>(usage.ru_utime.tv_sec) +
                         static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
  state.counters["evaluated"] = number("evaluated");
  state.counters["priced"] = number("evaluated") - number("rejected");
  state.counters["cpu_s"] = seconds;
  state.counters["evaluations/cpu_s"] = number("evaluated") / seconds;
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}

BENCHMARK(all_priced)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->Name("search: check, work and estimate of each, one thread (aim 200,000/s)");
BENCHMARK(mixed)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->Name("search: with what a check rejects, one thread");
BENCHMARK(whole_space)
    ->Unit(benchmark::kSecond)
    ->Iterations(1)
    ->UseRealTime()
    ->Name("search: all of 72 x 14336 on 384 GPUs, two threads (aim 11.28 M in 60 s)");

}  // namespace
