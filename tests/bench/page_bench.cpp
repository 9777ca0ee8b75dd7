// A report of 2,000 runs, with curves, doubts and as many rejected runs. Limit: 2 s.

#include <benchmark/benchmark.h>

#include "core/show/page/page.h"
#include "tests/show/page/fixtures.h"

namespace {

void report_of_2000_runs(benchmark::State& state) {
  const auto page = orch::page::test::many(2000);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = orch::page::html(page).size();
  state.counters["MB"] = static_cast<double>(bytes) / 1e6;
}

void picture_of_2000_runs(benchmark::State& state) {
  const auto page = orch::page::test::many(2000);
  for (auto _ : state) benchmark::DoNotOptimize(orch::page::svg(page));
}

BENCHMARK(report_of_2000_runs)
    ->Name("page: a report of 2,000 runs (aim 2,000 ms)")
    ->Unit(benchmark::kMillisecond);
BENCHMARK(picture_of_2000_runs)
    ->Name("page: a picture of 2,000 runs")
    ->Unit(benchmark::kMillisecond);

}  // namespace
