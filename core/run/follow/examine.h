#pragma once

#include <string>

#include "core/base/files.h"
#include "core/record/facts.h"

namespace orch::follow {

// Sums of what an executor will run of a run's folder: its script, and start where it has one.
// Unless trusted, the folder and both files must be ours, and as they were `before` (null: never
// submitted).
Result<record::Sums> examine(const fs::path& run_folder, const std::string& script,
                             const record::Sums* before, bool trust);

}  // namespace orch::follow
