#pragma once

#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/run/follow/campaign.h"
#include "core/record/planned.h"

namespace orch::app {

// The runs of an experiment's folder as records: what they are, how they stand, what was measured
// and estimated. Those whose ids are named, or all. What cannot be read is told in troubles.
Result<std::vector<record::Record>> run_records(App& app, const fs::path& root,
                                                const std::string& experiment,
                                                const std::vector<std::string>& ids,
                                                Errors& troubles);

}  // namespace orch::app
