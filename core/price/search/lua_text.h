#pragma once

#include <string>

#include "core/plan/experiment.h"
#include "core/plan/run.h"

namespace orch::search {

// "megatron { tensor_parallel = 8, micro_batch = 2 }": the strategy as an experiment writes it,
// without values that equal their defaults.
std::string strategy_lua(const plan::Run& run);

// An experiment with only this run, as a file that orch can read, with all settings of the
// experiment and of the run's strategy. Constraints are functions and cannot be written; the run
// fulfils them. The comment may have several lines.
std::string experiment_lua(const plan::Run& run, const plan::Experiment& experiment,
                           const plan::AskedStrategy& asked, const std::string& comment);

}  // namespace orch::search
