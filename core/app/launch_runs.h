#pragma once

#include <optional>
#include <string>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/session.h"

namespace orch::app {

// "slurm" or "local": what the cluster's file says, auto decided by what is here.
std::string way_to_launch(const plan::Run& run, launch::Slurm slurm);

// Submits the runs of a plan whose folders are written, and follows them: checks them against the
// cluster and the budget, asks, submits. Says why where it stops before that. end is set to how the
// runs stand, once something was submitted.
Ending launch_runs(App& app, Session& session, const PlannedExperiment& planned,
                   const RunArguments& arguments, std::optional<tables::Standings>& end,
                   Console& console);

}  // namespace orch::app
