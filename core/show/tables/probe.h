#pragma once

#include <string>
#include <vector>

#include "core/show/tables/compared.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// One rank of a planned run that ran alone.
struct Slice {
  std::int64_t stage = 0, last_stage = 0;  // it stands for the stages up to this one
  std::int64_t rank = 0;
  std::int64_t micro_batches = 1;  // in a step
  std::string device;              // what it ran on; empty: it has not run
  std::string estimated_for;       // the GPU whose constants the estimate has
  bool is_strange = false;         // which is another one than it ran on
  plan::Estimate estimate;         // of it alone
  std::optional<record::Measurement> measured;
  std::string failure;  // why there is nothing
};

// Memory and compute time of the slices beside their estimates: all of them in a table, then item
// by item.
std::string probe(const plan::Run& run, const std::vector<Slice>& slices, const Screen& screen);

}  // namespace orch::tables
