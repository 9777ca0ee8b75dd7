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

// An experiment, from its file to estimated runs, sorted by time to train (runs that do not fit
// come last).
struct PlannedExperiment {
  plan::Experiment experiment;
  std::vector<plan::Planned> runs;
  std::vector<plan::RejectedRun> rejected;
  std::size_t duplicates = 0;  // number of runs left out because an identical one exists
};

// The form for tables; must not outlive the experiment.
tables::RankedRuns view(const PlannedExperiment& outcome);

struct PlanOptions {
  double max_runs = 200'000;  // a larger number is refused before any run is made
  std::optional<Date> start;  // overrides the experiment's
  std::string runs = "runs";  // where folders of its runs may exist already; empty: nowhere
  bool again = false;         // plan the next repeat of finished runs
  bool items = false;         // include the items of step times in estimates
};

// Connects the parts of orch. Made for one call of the program.
class App {
 public:
  static Result<std::unique_ptr<App>> create();

  const OrchFolders& places() const { return places_; }
  const backend::Backends& backends() const { return backends_; }
  hardware::Catalog& clusters() { return clusters_; }
  experiment::Loader& loader() { return loader_; }
  const experiment::Loader& loader() const { return loader_; }
  render::Frameworks& frameworks() { return frameworks_; }

  // Files beside an experiment (clusters/*.yaml, gpus.yaml, models.lua and frameworks/*.lua in its
  // folder) have priority over the user's own and the shipped ones.
  void look_beside(const fs::path& experiment_file);
  void look_in(const fs::path& folder);

  plan::FindCluster find_cluster();

  // Loads the experiment of a file, with a start date if its deadline needs one; includes the files
  // beside it.
  Result<plan::Experiment> load(const experiment::ExperimentSource& source,
                                const std::optional<Date>& start = {});

  Result<PlannedExperiment> plan(const experiment::ExperimentSource& source,
                                 const PlanOptions& options = {});

  // Keeps the runs for which the Lua expression is true; an empty one keeps all.
  Status keep_where(const std::string& where, PlannedExperiment& outcome);

  // Adds items to the run's estimate: those of time and memory with their formulas, or of time
  // alone.
  Result<plan::Planned> explain(plan::Run run,
                                backend::WorkTexts explained = backend::WorkTexts::formulas);

  // Reads a run folder's run.json.
  Result<plan::Run> read_run(const fs::path& folder);

 private:
  App(OrchFolders places, backend::Backends backends);

  void check_phases(const plan::Run& run, std::vector<Error>& reasons) const;
  Status check_frameworks(const plan::Experiment& experiment);
  std::vector<Error> check_framework(const plan::Run& run, std::vector<Error>& reasons);
  estimate::AskWork ask_work() const;
  class Pricing;
  void repeat_finished(const fs::path& root, PlannedExperiment& outcome) const;
  void adopt_names(const fs::path& root, PlannedExperiment& outcome);

  OrchFolders places_;
  backend::Backends backends_;
  hardware::Catalog clusters_;
  experiment::Loader loader_;
  render::Frameworks frameworks_;
};

// Quotes a path for a command line, even if it begins with '-'.
std::string shell_path(const fs::path& path);

// The value of a field of an estimated run by name, for --where: the run's own fields, the
// strategy's settings, and the estimate's under their names in JSON. A parameter that only another
// strategy has reads as nil, so that one filter works for several strategies; an unknown name is an
// error.
Result<plan::Value> field(const plan::Planned& planned, std::string_view name,
                          const std::vector<plan::StrategyPtr>& strategies);

// Set by Ctrl-C; long loops check it and stop in a consistent state.
void catch_interrupts();
bool interrupted();

}  // namespace orch::app
