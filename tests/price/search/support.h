#pragma once

#include "core/plan/expand.h"
#include "core/plan/experiment/loader.h"
#include "core/plan/hardware/hardware.h"
#include "core/price/backend/backend.h"
#include "core/price/estimate/estimate.h"
#include "core/price/search/search.h"
#include "tests/test.h"

// The shipped backends and clusters, and experiments written in the test.
namespace orch::search::test {

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(text(result.error()));
  return std::move(*result);
}

struct SearchBench {
  backend::Backends backends =
      must(backend::Backends::load({fs::path(ORCH_BINARY_DIR) / "plugins"}));
  hardware::Catalog clusters{{fs::path(ORCH_SOURCE_DIR) / "experiments/clusters"},
                             {fs::path(ORCH_SOURCE_DIR) / "experiments/gpus.yaml"}};
  experiment::Loader loader{backends.strategies(),
                            {fs::path(ORCH_SOURCE_DIR) / "experiments/models.lua"}};

  plan::FindCluster find_cluster() {
    return [this](std::string_view name) { return clusters.find(name); };
  }
  plan::Experiment parse(const std::string& lua) { return must(loader.parse(lua, "test.lua")); }
  std::unique_ptr<const SearchSpace> space(const plan::Experiment& experiment,
                                           const OpenFields& opening = {}) {
    return must(SearchSpace::make(experiment, find_cluster(), opening));
  }
  Errors errors(const plan::Experiment& experiment, const OpenFields& opening = {}) {
    const auto space = SearchSpace::make(experiment, find_cluster(), opening);
    REQUIRE_FALSE(space);
    return space.error();
  }
  SearchResult search(const SearchSpace& space, unsigned threads = 2) {
    SearchOptions options;
    options.threads = threads;
    return must(search::search(space, backends, options));
  }
  plan::Run at(const SearchSpace& space, const RunScore& score) {
    std::vector<Error> reasons;
    auto run = run_at(space, backends, score.place, reasons);
    CHECK(text(reasons).empty());
    return run;
  }
  // As in a plan: a ramp-up is estimated at the layout of each of its phases.
  plan::Estimate price(const plan::Run& run, bool scheduled = true) {
    const auto ask = [this](const plan::Run& asked, backend::Work& to) {
      return backends.of(*asked.strategy).work(asked, backend::WorkTexts::none, to);
    };
    backend::Work work;
    REQUIRE(ask(run, work));
    estimate::Estimator estimator;
    auto estimate = estimator.estimate(run, work);
    if (scheduled) REQUIRE(estimator.schedule(run, ask, estimate));
    return estimate;
  }
  // All runs of an experiment whose lists contain every value, with estimates; without those that
  // do not fit.
  struct Priced {
    plan::Run run;
    plan::Estimate estimate;
  };
  std::vector<Priced> plan(const std::string& lua) {
    const auto experiment = parse(lua);
    const auto planned = must(plan::expand(
        experiment, find_cluster(), [this](const plan::Run& run, auto& reasons, auto& warnings) {
          backends.of(*run.strategy).check(run, reasons, warnings);
        }));
    std::vector<Priced> priced;
    for (const auto& run : planned.runs)
      if (auto estimate = price(run); estimate.fit != plan::MemoryFit::oom)
        priced.push_back({run, std::move(estimate)});
    return priced;
  }
};

inline auto layout_of(const plan::Run& run) {
  return std::tuple(run.strategy->name, run.model.layers, run.gpus, run.layout.tensor_parallel,
                    run.layout.pipeline_parallel, run.batch.micro_batch);
}

}  // namespace orch::search::test
