#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/estimate.h"
#include "core/record/record.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// An item by the trainer's name. Several of the estimate's may make up one of it; an item that only
// one side has stands alone.
struct Compared {
  std::string name;
  std::optional<double> measured;       // seconds or bytes
  std::optional<double> estimated;      // the sum of its parts
  std::vector<std::string> parts = {};  // of the estimate, by their names there

  // In percent, signed: how far the estimate is off; only where there are both.
  std::optional<double> error() const;
  std::string error_text() const;  // "+1.2 %"; empty: there is none
};

// The items, in the order of the estimate, those that only a trainer knows last; then the totals.
struct Comparison {
  std::vector<Compared> items;
  Compared sum;    // of the items
  Compared total;  // as measured by itself: one step, the peak
};

// "3", "3 to 5".
std::string stages_text(std::int64_t first, std::int64_t last);

// As a table: measured, estimated, error, item; seconds or bytes.
show::Table compared_table(std::string name, std::string title, Comparison comparison, bool bytes);

Comparison compare_time(const plan::Estimate& estimate, const record::Measurement& measured);
// Memory of the fullest stage.
Comparison compare_memory(const plan::Estimate& estimate, const record::Measurement& measured);
Comparison compare_host_memory(const plan::Estimate& estimate, const record::Measurement& measured);

// The stage with the highest peak; the estimate has its items.
const plan::StageMemory& fullest_stage(const plan::Estimate& estimate);

}  // namespace orch::tables
