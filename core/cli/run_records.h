#pragma once

#include <string>
#include <vector>

#include "core/cli/app.h"
#include "core/run/follow/campaign.h"
#include "core/plan/planned.h"
#include "core/record/record.h"

namespace orch::cli {

// What a run is, by the names of its fields in Lua; how it learns is among them where training is
// true, for comparing losses.
std::vector<record::Field> fields_of(const plan::Run& run, bool training);

// An estimate as a record has it. Times are multiplied by a machine's factor of those days.
record::Estimated estimated_of(const plan::Estimate& estimate, double era = 1);

// A run that nobody has run yet. Its estimate has items where the plan's had them.
record::Record planned_record(const plan::Planned& planned, const std::string& experiment_file);

// The runs of an experiment's folder as records: what they are, how they stand, what was measured
// and estimated. Those whose ids are named, or all. What cannot be read is told in troubles.
Result<std::vector<record::Record>> run_records(App& app, const fs::path& root,
                                                const std::string& experiment,
                                                const std::vector<std::string>& ids,
                                                Errors& troubles);

}  // namespace orch::cli
