#pragma once

#include <string>

#include "core/base/files.h"
#include "core/record/facts.h"

namespace orch::follow {

// Checksums of the files that an executor runs from a run's folder: its script, and `start` if
// there is one. Unless trusted, the folder and both files must be owned by us and unchanged since
// `before` (null: never submitted).
Result<record::ScriptSums> examine(const fs::path& run_folder, const std::string& script,
                                   const record::ScriptSums* before, bool trust);

}  // namespace orch::follow
