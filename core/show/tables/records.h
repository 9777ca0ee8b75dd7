#pragma once

#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A table of records: what was run, what was measured with its 95 % interval, the estimate and its
// error. Below: how the times were measured, what failed, what is doubtful, and why something has
// no estimate. top 0 means all of them. The records must outlive it.
show::Answer records_answer(const std::vector<record::Record>& records, std::size_t top = 0);

// "52.0B", or "64 x 8192" if the number of parameters is not stated.
std::string model_text(const record::Record& record);
// "finished", "failed: gpu_memory", "running".
std::string verdict_text(const record::Record& record);

}  // namespace orch::tables
