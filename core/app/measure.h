#pragma once

#include <string>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/price/measure/measurement.h"

namespace orch::app {

// This machine as a cluster, and what was measured for it.
struct MeasuredHere {
  measure::Measurement measurement;
  plan::Cluster cluster;
  plan::Partition shipped;  // what its constants were before
  std::string busy;         // what to say of other programs that use the machine; empty: nothing
};

// Starts the measuring program as so many ranks (0: as many as suit the machine) and makes a
// cluster of that name of what it says. The program is built first where somebody told us how.
Result<MeasuredHere> measure_here(const App& app, std::int64_t ranks, const std::string& name);

// Its text to a file whose folder is made; read again before it is written.
Status write_measured(const App& app, const MeasuredHere& measured, const fs::path& file);

// "Neoverse-N1 x 2"
std::string this_machine();

// The measuring program; empty: there is none.
fs::path find_measure(const Places& places);

// orch calibrate --this-machine
Ending measure_command(App& app, const CalibrateArguments& arguments, Console& console);

// Measures this machine if the experiment runs on the cluster `local` and nobody has measured it,
// or only another machine was. Says what it does; where it cannot, the run goes on with what there
// is.
void measure_before_run(App& app, const experiment::Source& source, Console& console);

}  // namespace orch::app
