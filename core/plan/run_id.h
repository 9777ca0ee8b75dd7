#pragma once

#include <string>
#include <vector>

#include "core/plan/run.h"
#include "core/plan/training.h"

namespace orch::plan {

// What a run is, as lines "name=value" of all that differs from defaults, and the version of this
// rule. So a parameter or a field that is new and has a default, a new release of a backend and a
// cluster file's comments leave it as it was. Two runs with the same lines are the same run.
std::string identity(const Run& run,
                     const std::vector<TrainingField>& training = training_fields());

// "<label>-<hash8>", the hash being of the identity.
std::string run_id(const Run& run);

}  // namespace orch::plan
