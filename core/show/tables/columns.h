#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A column of the side-by-side table.
struct Column {
  std::string title;
  int rank;    // 0 always stays; the highest rank is the first to go on a narrow screen
  bool input;  // what was asked, not what came out: said once above the table if all runs share it
  std::function<std::string(const plan::Planned&)> text;
};

// Settings that all runs of a strategy share: said once above the table.
using Common = std::map<std::string, std::set<std::string>>;
Common common_settings(const std::vector<const plan::Planned*>& runs);

// All columns of a result. The strategy's leaves out the settings that are said already.
inline constexpr std::string_view kStrategy = "strategy";
std::vector<Column> columns(const RankedRuns& result, const Common& common);

// The same in CSV, with everything in bytes, seconds and days: the names, and a row for each run.
std::string csv_header();
std::vector<std::vector<CsvCell>> csv_rows(const RankedRuns& result);

// Inputs that are the same in every run, as "title text", and the other columns.
struct Split {
  std::vector<const Column*> varying;
  std::vector<std::string> common;
};
Split split_columns(const std::vector<Column>& columns,
                    const std::vector<const plan::Planned*>& runs);

}  // namespace orch::tables
