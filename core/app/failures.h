#pragma once

#include <string>

#include "core/app/commands.h"
#include "core/plan/cluster.h"

namespace orch::app {

// What is known of a partition's rate of failures before its own jobs are counted: the constants of
// its file. Where these were learned by `orch calibrate --failures`, the prior of that is used
// again, so that the same jobs never count twice.
struct FailurePrior {
  double rate = 0;   // per GPU-hour, as precise as a file has it
  double count = 0;  // how many observed failures it is worth
  std::string origin;
};
FailurePrior failure_prior(const plan::Partition& partition);

// The origin of a learned rate, which failure_prior() understands.
std::string learned_origin(const std::string& observed, const FailurePrior& prior);

// The verb orch calibrate --failures.
Ending failures_command(App& app, const CalibrateArguments& arguments, Console& console);

}  // namespace orch::app
