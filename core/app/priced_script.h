#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/app/commands.h"

namespace orch::app {

// A job script as an experiment.
struct PricedScript {
  std::string name;  // of the script, for messages
  std::string experiment;
  std::string model;  // as Lua
  plan::JobScript job;
  render::LaunchReading reading;
  std::string framework;             // as which it was read, even if that cannot start it
  std::string machine;               // "jean-zay/a100-80g"; empty: --set has it
  std::vector<std::string> assumed;  // what the script does not say
  experiment::ExperimentSource source = "";

  // Without its framework, which refuses the run: it can be priced, but not started.
  void forget_framework(const App& app);
  std::string lua(const App& app) const;  // the experiment
};

// Reads the script. An error names everything that is missing at once, and how to give it.
Result<PricedScript> read_script(App& app, const PriceArguments& arguments);

}  // namespace orch::app
