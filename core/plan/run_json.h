#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/resolve.h"
#include "core/plan/run.h"

namespace orch::plan {

// The only document of a run, runs/<experiment>/<id>/run.json: everything that determines what the
// run does, in a fixed order, with a checksum at its end. Planner, store, supervisor and trainers
// all read it. Needs no backend and no cluster file.
std::string run_json(const Run& run);

// Parses it and reports every problem at once; place is the file, for messages. Missing fields have
// their defaults. A document that was changed after it was written is refused; one written by hand
// has no checksum. Warnings are not stored.
Result<Run> parse_run(const std::string& text, const std::string& place);
Result<Run> read_run(const fs::path& file);

// Checks that the folder of this name was made with this run.json; `text` is its content.
Status check_frozen(const std::string& text, const fs::path& file);

// Connects the run with the real strategy and cluster of their names, and converts its settings to
// the strategy's parameters; parameters newer than the document get their defaults.
Status bind(Run& run, const std::string& place, const std::vector<StrategyPtr>& strategies,
            const FindCluster& find_cluster);

}  // namespace orch::plan
