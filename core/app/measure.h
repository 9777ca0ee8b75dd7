#pragma once

#include "core/app/commands.h"

namespace orch::app {

// orch calibrate --this-machine
Ending measure_command(App& app, const CalibrateArguments& arguments, Console& console);

// Measures this machine if the experiment runs on the cluster `local` and nobody has measured it,
// or only another machine was. Says what it does; where it cannot, the run goes on with what there
// is.
void measure_before_run(App& app, const experiment::Source& source, Console& console);

}  // namespace orch::app
