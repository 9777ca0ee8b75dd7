#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "core/show/page/numbers.h"

namespace orch::page {

// A record as the table sees it.
struct PageLine {
  const record::Record* record = nullptr;
  PageNumbers numbers;
  std::string variant;
  std::string name;                  // what it is called on the page: no other has that name
  std::string series;                // its strategy, with its model where models differ
  std::string out;                   // why its speed does not count; empty: it does
  double gpus = 0;                   // 0: not known
  std::size_t strong = 0, weak = 0;  // the numbers of its families; 0: none
  std::size_t alike = 0;             // the number of its group of repeats; 0: none
};

// Of neither, nothing is known.
struct PageCell {
  std::string html;  // as it is shown; else the number is, like the others of its column
  std::optional<Interval> value;  // by which it is sorted, in columns of numbers
  bool is_computed = false;       // by us: no doubt about the source is about it

  bool is_empty() const { return html.empty() && !value; }
};

struct PageColumn {
  std::string name = {};   // one word, for the script
  std::string head = {};   // what people read
  std::string under = {};  // and in small letters below it
  std::string title = {};  // what it means, in a sentence
  bool is_number = false;
  bool has_choices = false;               // runs can be filtered by its values
  bool is_hidden = false;                 // until somebody chooses it
  bool is_setting = false;                // said once above the table where all runs have the same
  std::vector<std::string> doubted = {};  // the names that a doubt may call it by
  std::function<PageCell(const PageLine&)> cell = {};
};

std::vector<PageLine> lines_of(const std::vector<record::Record>& records);

// Those that the page has, in their order: see kMostRuns.
std::vector<PageLine> lines_on_page(const std::vector<PageLine>& lines);

// All that any record could fill, from left to right; the first names the run.
std::vector<PageColumn> columns_of(const std::vector<PageLine>& lines);

}  // namespace orch::page
