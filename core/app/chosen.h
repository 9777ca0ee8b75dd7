#pragma once

#include <string>
#include <variant>

#include "core/app/app.h"
#include "core/app/console.h"

namespace orch::app {

// A run that a word names.
struct Chosen {
  plan::Run run;
  plan::Calendar calendar;
};

// A run folder by its path, or by id, hash or beginning below `runs`.
Result<fs::path> find_run(const std::string& word, const std::string& runs);

// The planned experiment, of its runs those for which `where` is true; how the verb ends instead.
std::variant<PlannedExperiment, Ending> plan_where(App& app, const experiment::Source& source,
                                                   const PlanOptions& options,
                                                   const std::string& where);

// FILE.lua, or - for stdin: the best of its runs, of those for which `where` is true. Else a run
// folder, as above. How the verb ends instead, where there is none.
std::variant<Chosen, Ending> choose_run(App& app, const experiment::Source& word,
                                        const std::string& where, const std::optional<Date>& start,
                                        const std::string& runs);

}  // namespace orch::app
