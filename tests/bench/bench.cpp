// Start-up, planning, rendering: their times on this machine. Machines are noisy, so each number is
// printed beside one for comparison from the same run.

#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/app/app.h"
#include "core/run/render/job.h"

extern char** environ;

namespace {

using orch::app::App;
using orch::app::PlannedExperiment;

const std::string kSweep = ORCH_SOURCE_DIR "/tests/bench/sweep.lua";

template <class T>
T must(orch::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", orch::text(result.error()).c_str());
  std::exit(1);
}

void spawn(const char* program, const char* argument) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  char* arguments[] = {const_cast<char*>(program), const_cast<char*>(argument), nullptr};
  pid_t child = 0;
  int status = 1;
  if (posix_spawn(&child, program, &actions, nullptr, arguments, environ) != 0 ||
      waitpid(child, &status, 0) != child || status != 0)
    std::exit(1);
  posix_spawn_file_actions_destroy(&actions);
}

void report_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1e3;
}

void start_of_true(benchmark::State& state) {
  for (auto _ : state) spawn("/bin/true", nullptr);
}

void start_of_orch(benchmark::State& state) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "orch";
  for (auto _ : state) spawn(program.c_str(), "--version");
}

void load_plugins_and_lua(benchmark::State& state) {
  for (auto _ : state) {
    auto app = must(App::create());
    benchmark::DoNotOptimize(app->loader().load(kSweep));
  }
}

// Estimates alone: the difference to plan_and_estimate is the time for planning and naming.
void estimate_only(benchmark::State& state) {
  auto app = must(App::create());
  const auto outcome = must(app->plan(kSweep));
  orch::estimate::Estimator estimator;
  orch::backend::Work work;
  for (auto _ : state) {
    for (const auto& planned : outcome.runs) {
      const auto& backend = app->backends().of(*planned.run.strategy);
      if (!backend.work(planned.run, orch::backend::WorkTexts::none, work)) std::exit(1);
      benchmark::DoNotOptimize(estimator.estimate(planned.run, work));
    }
  }
  state.counters["runs"] = static_cast<double>(outcome.runs.size());
}

void plan_and_estimate(benchmark::State& state) {
  auto app = must(App::create());
  std::size_t runs = 0;
  for (auto _ : state) runs = must(app->plan(kSweep)).runs.size();
  state.counters["runs"] = static_cast<double>(runs);
  report_memory(state);
}

void render(benchmark::State& state) {
  auto app = must(App::create());
  const auto outcome = must(app->plan(kSweep));
  orch::render::Renderer renderer(app->places().templates());
  for (auto _ : state) {
    for (const auto& planned : outcome.runs) {
      orch::render::Context context;
      context.trainers = "/bin";
      context.version = "0";
      context.step_seconds = planned.estimate.step_seconds;
      benchmark::DoNotOptimize(must(renderer.render(planned.run, context)));
    }
  }
  state.counters["jobs"] = static_cast<double>(outcome.runs.size());
  report_memory(state);
}

BENCHMARK(start_of_true)->Unit(benchmark::kMillisecond);
BENCHMARK(start_of_orch)->Unit(benchmark::kMillisecond)->Name("start_of_orch (aim 10 ms)");
BENCHMARK(load_plugins_and_lua)->Unit(benchmark::kMillisecond);
BENCHMARK(estimate_only)->Unit(benchmark::kMillisecond)->MinTime(1);
BENCHMARK(plan_and_estimate)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1)
    ->Name("plan_and_estimate of 10,000 runs (aim 200 ms, 200 MB)");
BENCHMARK(render)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1)
    ->Name("render of 10,000 jobs (aim 1000 ms)");

}  // namespace

BENCHMARK_MAIN();
