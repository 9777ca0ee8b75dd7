#pragma once

#include <string>

#include "core/plan/experiment.h"
#include "core/plan/run.h"

namespace orch::search {

// "megatron { tensor_parallel = 8, micro_batch = 2 }": the strategy as an experiment would say it,
// without what is its default.
std::string strategy_lua(const plan::Run& run);

// An experiment of this one run, as a file that orch reads, with all that the experiment and the
// run's strategy in it say. Constraints are functions and cannot be written; the run keeps them.
// The comment may have several lines.
std::string experiment_lua(const plan::Run& run, const plan::Experiment& experiment,
                           const plan::AskedStrategy& asked, const std::string& comment);

}  // namespace orch::search
