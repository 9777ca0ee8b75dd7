#pragma once

#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/plan/training.h"

namespace orch::plan {

// The identity of a run: lines "name=value" for all that differs from defaults, and the version of
// this rule. So a new parameter or field with a default, a new release of a backend and comments in
// a cluster file do not change it. Two runs with the same lines are the same run.
std::string identity(const Run& run,
                     const std::vector<TrainingField>& training = training_fields());

// "<label>-<hash8>", with the hash of the identity.
std::string run_id(const Run& run);

}  // namespace orch::plan
