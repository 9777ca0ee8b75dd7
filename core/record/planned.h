#pragma once

#include <string>
#include <vector>

#include "core/plan/planned.h"
#include "core/record/record.h"

namespace orch::record {

// The fields of a run, by the vocabulary's names; with `training`, also those of the section
// training, for comparing losses.
std::vector<RecordField> fields_of(const plan::Run& run, bool training);

// An estimate for a record: its items summed by group, its times multiplied by the machine's factor
// of the day.
plan::Estimate estimated_of(plan::Estimate estimate, double era = 1);

// The record of a run that was only planned. Its estimate has items if the plan's has them.
Record planned_record(const plan::Planned& planned, const std::string& experiment_file);

}  // namespace orch::record
