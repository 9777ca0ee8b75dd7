#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/show/tables/report.h"

namespace orch::tables {

// A column of a table of runs, of records, of whatever has rows. The highest rank is the first to go
// on a narrow screen, 0 always stays.
template <class Row>
struct Column {
  std::string title;
  int rank;
  std::function<std::string(const Row&)> text;
  bool input = false;  // what was asked, not what came out: said once where all rows share it
};
inline constexpr int kBelow = -1;  // the rank of a last column that goes below its row

// The same with its cells, the title first.
struct Filled {
  int rank = 0;
  std::vector<std::string> texts;
};

template <class Row>
std::vector<Filled> filled(const std::vector<Column<Row>>& columns,
                           const std::vector<const Row*>& rows) {
  std::vector<Filled> out;
  for (const auto& column : columns) {
    auto& texts = out.emplace_back(Filled{column.rank, {column.title}}).texts;
    for (const auto* row : rows) texts.push_back(printable(column.text(*row)));
  }
  return out;
}

// The columns in which something stands, as many as the screen has room for, as rows.
Rows fitting_rows(std::vector<Filled> columns, const Screen& screen);

}  // namespace orch::tables
