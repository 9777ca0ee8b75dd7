#pragma once

#include "core/record/record.h"

namespace orch::published {

// Adds to a record as it was said (said.h) what follows from it: the strategy, the number of
// parameters, the accumulation, tokens per second, days. Fields come in the order of columns, those
// that are not the source's word are marked as assumed, and a table's own marks are doubts.
void complete(record::Record& record);

// Adds the TFLOPs per GPU that follow from a record's step time and sizes, by the megatron
// convention, unless the record has them stated by it or something is not known.
void add_tflops(record::Record& record);

}  // namespace orch::published
