#pragma once

#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/show/answer.h"
#include "core/show/page/numbers.h"

namespace orch::page {

// A record with everything that the table and the charts derive from it.
struct PageLine {
  const record::Record* record = nullptr;
  PageNumbers numbers;
  std::string variant;
  std::string name;                  // name on the page, unique there
  std::string series;                // its strategy, and its model where models differ
  std::string out;                   // why its speed does not count; empty if it does
  double gpus = 0;                   // 0: unknown
  std::size_t strong = 0, weak = 0;  // numbers of its scaling families; 0: none
  std::size_t alike = 0;             // number of its group of repeats, or of ties; 0: none
  bool tied = false;  // a group of ties: estimates that cannot be told from the best one's
};

std::vector<PageLine> lines_of(const std::vector<record::Record>& records);

// The lines that the page shows, in their original order; see kMostRuns.
std::vector<PageLine> lines_on_page(const std::vector<PageLine>& lines);

// All columns that a record could fill, from left to right; the first one names the run. They refer
// to the lines.
std::vector<show::Column> columns_of(const std::vector<PageLine>& lines);

}  // namespace orch::page
