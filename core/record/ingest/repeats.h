#pragma once

#include <cstdint>

#include "core/record/ingest/run.h"

namespace orch::ingest {

// Whether steps that a log has twice were told twice, done twice, or are of two runs.

// Time and loss of a step as its line says them: a copy of the line has the very same.
StepTimes::Kept shape_of(const Values& values, double seconds);
// Of a step that is not beyond the last one: whether it is told again and not done again. Ranks
// without labels may lag a little; a step that a checkpoint was loaded for is done again.
bool is_copy(Run& run, std::int64_t step, const StepTimes::Kept& shape);
// Of the first step after a start: whether the run has it already, word for word.
bool tells_again(const Run& run, const Values& values);
// Whether a step is the first of a training that no checkpoint was loaded for.
bool begins_anew(const Run& run, std::int64_t resumed_after, std::int64_t step);
// The same of a start whose losses do not say their step.
bool begins_anew(const Run& start);
// Of a step that falls back where nothing else tells that another run begins.
bool has_other_settings(const Run& run, const Values& values, std::int64_t step);

}  // namespace orch::ingest
