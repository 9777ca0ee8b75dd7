#pragma once

#include "core/app/commands.h"

namespace orch::app {

// The verb orch calibrate --this-machine.
Ending measure_command(App& app, const CalibrateArguments& arguments, Console& console);

// orch-measure, rebuilt from newer sources if possible.
Result<fs::path> measuring_program(const OrchFolders& places);

// Measures this machine if the experiment runs on the cluster `local` and it was never measured, or
// only on another machine. Prints what it does; if that fails, the run continues with the present
// constants.
void measure_before_run(App& app, const experiment::ExperimentSource& source, Console& console);

}  // namespace orch::app
