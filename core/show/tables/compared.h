#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/estimate.h"
#include "core/record/record.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// An item by the trainer's name. Several items of the estimate may correspond to one; an item of
// only one side has no counterpart.
struct Compared {
  std::string name;
  std::optional<double> measured;       // seconds or bytes
  std::optional<double> estimated;      // the sum of its parts
  std::vector<std::string> parts = {};  // the estimate's items, by name

  // The error of the estimate in percent, signed; only if both values exist.
  std::optional<double> error() const;
  std::string error_text() const;  // "+1.2 %"; empty: unknown
};

// The items in the order of the estimate, then those of the trainer only, then the totals.
struct ComparisonTables {
  std::vector<Compared> items;
  Compared sum;    // of the items
  Compared total;  // measured separately: one step, the peak
};

// "3", "3 to 5".
std::string stages_text(std::int64_t first, std::int64_t last);

// The table: measured, estimated, error, item; in seconds or bytes.
show::Table compared_table(std::string name, std::string title, ComparisonTables comparison,
                           bool bytes);

ComparisonTables compare_time(const plan::Estimate& estimate, const record::Measurement& measured);
// Compares the memory of the fullest stage.
ComparisonTables compare_memory(const plan::Estimate& estimate,
                                const record::Measurement& measured);
ComparisonTables compare_host_memory(const plan::Estimate& estimate,
                                     const record::Measurement& measured);

// The stage with the highest peak; the estimate must have items.
const plan::StageMemory& fullest_stage(const plan::Estimate& estimate);

}  // namespace orch::tables
