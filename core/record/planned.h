#pragma once

#include <string>
#include <vector>

#include "core/plan/planned.h"
#include "core/record/record.h"

namespace orch::record {

// What a run is, by the vocabulary's names; how it learns is among them where training is true, for
// comparing losses.
std::vector<Field> fields_of(const plan::Run& run, bool training);

// An estimate as a record has it: its items by group, its times multiplied by a machine's factor of
// those days.
plan::Estimate estimated_of(plan::Estimate estimate, double era = 1);

// A run that nobody has run yet. Its estimate has items where the plan's had them.
Record planned_record(const plan::Planned& planned, const std::string& experiment_file);

}  // namespace orch::record
