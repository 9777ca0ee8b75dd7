#pragma once

#include <string>
#include <variant>

#include "core/app/app.h"
#include "core/app/console.h"

namespace orch::app {

// A run selected by a user's argument.
struct ChosenRun {
  plan::Run run;
  plan::Calendar calendar;
};

// A run folder by its path, or by the id, hash or prefix of one below `runs`.
Result<fs::path> find_run(const std::string& word, const std::string& runs);

// The planned experiment with only the runs for which `where` is true; or how the verb ends.
std::variant<PlannedExperiment, Ending> plan_where(App& app,
                                                   const experiment::ExperimentSource& source,
                                                   const PlanOptions& options,
                                                   const std::string& where);

// FILE.lua, or - for stdin: its best run for which `where` is true. Else a run folder, as above.
// Returns how the verb ends if there is none.
std::variant<ChosenRun, Ending> choose_run(App& app, const experiment::ExperimentSource& word,
                                           const std::string& where,
                                           const std::optional<Date>& start,
                                           const std::string& runs);

}  // namespace orch::app
