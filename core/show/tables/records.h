#pragma once

#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// Records side by side: what was run, what was measured with its 95 % interval, the estimate beside
// it and how far that is off. Below: how the times were taken, what failed, what is doubtful, and
// why something has no estimate. top 0 means all of them.
std::string records_table(const std::vector<record::Record>& records, const Screen& screen,
                          std::size_t top = 0);
// A line for each record, a column for each field that one of them has.
std::string records_csv(const std::vector<record::Record>& records);

// "52.0B", or "64 x 8192" where nobody said the size.
std::string model_text(const record::Record& record);
// "finished", "failed: gpu_memory", "running".
std::string verdict_text(const record::Record& record);

}  // namespace orch::tables
