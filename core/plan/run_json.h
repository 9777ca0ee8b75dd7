#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/resolve.h"
#include "core/plan/run.h"

namespace orch::plan {

// The one document of a run, runs/<experiment>/<id>/run.json: everything that decides what the run
// does, in a fixed order, with a checksum at its end. Read by all who need it: planner, store,
// supervisor, trainers. Needs no backend and no cluster file.
std::string run_json(const Run& run);

// Back from its text, with every problem at once; place is the file, for messages. What is not
// given is as by default. One that was changed after it was written is refused; one by hand has no
// checksum. Warnings are not in it.
Result<Run> parse_run(const std::string& text, const std::string& place);
Result<Run> read_run(const fs::path& file);

// Whether the folder of this name was made with this run.json: text is what it holds.
Status check_frozen(const std::string& text, const fs::path& file);

// The run with the real strategy and cluster of their names, its settings conformed to the
// strategy's parameters; parameters that are newer than the document get their defaults.
Status bind(Run& run, const std::string& place, const std::vector<StrategyPtr>& strategies,
            const FindCluster& find_cluster);

}  // namespace orch::plan
