#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/csv.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A run's place. Runs that cannot be told from the first one share it: their 90 % ranges overlap, or,
// of runs on one machine, whose errors are shared, 1 is within the 90 % range of their ratio.
struct Rank {
  std::size_t place = 0;  // 0: does not fit
  bool tie = false;

  std::string text() const;  // "1=", "7", or nothing
};

// In the result's order; each question has its own first place.
std::vector<Rank> ranks(const RankedRuns& result);

// "3 more layouts may be as fast (within the error of the estimates)": how many share the best one's place.
std::string tie_text(std::size_t more, std::string_view noun, Measure measure);

// A plan in CSV, with everything in bytes, seconds and days: what JSON says of each run, but its
// schedule and warnings. The columns refer to the result's experiment.
struct CsvColumn {
  std::string name;
  std::function<CsvCell(const plan::Planned&)> cell;
};
using CsvColumns = std::vector<CsvColumn>;
CsvColumns csv_columns(const RankedRuns& result);
std::string csv_header(const CsvColumns& columns);
std::vector<std::vector<CsvCell>> csv_rows(const RankedRuns& result, const CsvColumns& columns);

// A sentence for each strategy: the software and the machine that its best run is priced by, the rows that
// each was fitted to, and how far the run is from them.
std::string stacks_text(const RankedRuns& result);

}  // namespace orch::tables
