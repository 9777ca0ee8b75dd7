#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/app/places.h"
#include "core/plan/expand.h"
#include "core/plan/experiment/loader.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/planned.h"
#include "core/price/backend/backend.h"
#include "core/price/estimate/estimate.h"
#include "core/run/render/framework.h"
#include "core/show/tables/report.h"

namespace orch::app {

// An experiment from its file to priced runs, sorted by time to train (what does not fit comes
// last).
struct PlannedExperiment {
  plan::Experiment experiment;
  std::vector<plan::Planned> runs;
  std::vector<plan::Rejected> rejected;
  std::size_t duplicates = 0;  // runs left out because another one is the same
};

// As tables show it, which must not outlive it.
tables::RankedRuns view(const PlannedExperiment& outcome);

struct PlanOptions {
  double max_runs = 200'000;  // more are refused before any is looked at
  std::optional<Date> start;  // instead of the experiment's
  std::string runs = "runs";  // where folders of its runs may be already; empty: nowhere
  bool again = false;         // of what has finished there, the next repeat
  bool items = false;         // with the items of a step's time in the estimates
};

// The parts of orch, wired. Made for one call of the program.
class App {
 public:
  static Result<std::unique_ptr<App>> create();

  const Places& places() const { return places_; }
  const backend::Backends& backends() const { return backends_; }
  hardware::Catalog& clusters() { return clusters_; }
  experiment::Loader& loader() { return loader_; }
  const experiment::Loader& loader() const { return loader_; }
  render::Frameworks& frameworks() { return frameworks_; }

  // What lies beside an experiment (clusters/*.yaml, gpus.yaml, models.lua and frameworks/*.lua in
  // its folder) goes before one's own and the shipped.
  void look_beside(const fs::path& experiment_file);
  void look_in(const fs::path& folder);

  plan::FindCluster find_cluster();

  // The experiment of a file, with a start where its deadline needs one; what lies beside it
  // counts.
  Result<plan::Experiment> load(const experiment::Source& source,
                                const std::optional<Date>& start = {});

  Result<PlannedExperiment> plan(const experiment::Source& source, const PlanOptions& options = {});

  // Keeps the runs for which the Lua expression is true; an empty one keeps all.
  Status keep_where(const std::string& where, PlannedExperiment& outcome);

  // The run with items in its estimate: those of time and memory with their formulas, or of time
  // alone.
  Result<plan::Planned> explain(plan::Run run,
                                backend::Explained explained = backend::Explained::formulas);

  // A run folder's run.json as a run.
  Result<plan::Run> read_run(const fs::path& folder);

 private:
  App(Places places, backend::Backends backends);

  void check_phases(const plan::Run& run, std::vector<Error>& reasons) const;
  Status check_frameworks(const plan::Experiment& experiment);
  std::vector<Error> check_framework(const plan::Run& run, std::vector<Error>& reasons);
  estimate::AskWork ask_work() const;
  class Pricing;
  void repeat_finished(const fs::path& root, PlannedExperiment& outcome) const;
  void adopt_names(const fs::path& root, PlannedExperiment& outcome);

  Places places_;
  backend::Backends backends_;
  hardware::Catalog clusters_;
  experiment::Loader loader_;
  render::Frameworks frameworks_;
};

// A word for a command line that names this path, whatever it begins with.
std::string shell_path(const fs::path& path);

// A field of a priced run by name, for --where: the run's own, the strategy's settings, and the
// estimate's under the names they have in JSON. A parameter that only another strategy has reads as
// nil, so that one filter can speak of several; a name that nobody knows is an error.
Result<plan::Value> field(const plan::Planned& planned, std::string_view name,
                          const std::vector<plan::StrategyPtr>& strategies);

// Set by Ctrl-C; long loops ask for it and stop at a sound place.
void catch_interrupts();
bool interrupted();

}  // namespace orch::app
