#pragma once

#include <string>
#include <vector>

#include "core/show/tables/report.h"

namespace orch::tables {

// A column of a table in the making: its title, then its cells. The highest rank is the first to go
// on a narrow screen, 0 always stays.
struct TextColumn {
  int rank = 0;
  std::vector<std::string> texts;
};

// The columns in which something stands, as many as the screen has room for, as rows. A last one of
// rank 0 counts for nothing: it goes below its row.
std::vector<std::vector<std::string>> fitting_rows(std::vector<TextColumn> columns,
                                                   const Screen& screen);

}  // namespace orch::tables
