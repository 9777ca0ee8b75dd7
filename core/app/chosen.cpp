#include "core/app/chosen.h"

#include "core/base/text.h"
#include "core/run/store/store.h"

namespace orch::app {
namespace {

// The best run of an experiment file.
std::variant<ChosenRun, Ending> best_of(App& app, const experiment::ExperimentSource& source,
                                        const std::string& where, const std::optional<Date>& start,
                                        const std::string& runs) {
  auto found = plan_where(app, source, {.start = start, .runs = runs}, where);
  if (auto* ended = std::get_if<Ending>(&found)) return std::move(*ended);
  auto& planned = std::get<PlannedExperiment>(found);
  if (planned.runs.empty()) {
    Errors errors{{printable(source.name()), "every run is rejected",
                   "orch plan shows all reasons; of the first run:"}};
    if (!planned.rejected.empty())
      errors.insert(errors.end(), planned.rejected.front().reasons.begin(),
                    planned.rejected.front().reasons.end());
    return Ending{std::move(errors), Exit::invalid_experiment};
  }
  return ChosenRun{std::move(planned.runs.front().run), planned.experiment.calendar};
}

// A run folder by its path, id, hash or beginning.
std::variant<ChosenRun, Ending> stored(App& app, const std::string& word,
                                       const std::optional<Date>& start, const std::string& runs) {
  const auto folder = find_run(word, runs);
  if (!folder) return Ending(folder.error());
  auto run = app.read_run(*folder);
  if (!run) return Ending(run.error());
  return ChosenRun{std::move(*run), {start, 1, {}}};
}

}  // namespace

Result<fs::path> find_run(const std::string& word, const std::string& runs) {
  std::error_code code;
  if (fs::exists(fs::path(word) / "run.json", code)) return fs::path(word);
  return store::RunStore(runs).find(word);
}

std::variant<PlannedExperiment, Ending> plan_where(App& app,
                                                   const experiment::ExperimentSource& source,
                                                   const PlanOptions& options,
                                                   const std::string& where) {
  auto planned = app.plan(source, options);
  if (!planned)
    return Ending{planned.error(), interrupted() ? Exit::interrupted : Exit::invalid_experiment};
  if (auto status = app.keep_where(where, *planned); !status)
    return Ending{status.error(), planned->runs.empty() ? Exit::invalid_experiment : Exit::usage};
  return std::move(*planned);
}

std::variant<ChosenRun, Ending> choose_run(App& app, const experiment::ExperimentSource& word,
                                           const std::string& where,
                                           const std::optional<Date>& start,
                                           const std::string& runs) {
  if (word.is_stdin() || word.file.extension() == ".lua")
    return best_of(app, word, where, start, runs);
  if (!word.set.empty())
    return Ending{Error{"--set " + printable(word.set.front()), "the run folder cannot be changed",
                        "name the experiment's FILE.lua"},
                  Exit::usage};
  return stored(app, word.file.string(), start, runs);
}

}  // namespace orch::app
