#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/report/report.h"

namespace orch::report {

// A column of the side-by-side table.
struct Column {
  std::string title;
  int rank;  // 0 always stays; the highest rank is the first to go on a narrow screen
  std::function<std::string(const plan::Planned&)> text;
};

const std::vector<Column>& columns();

// Columns whose text is the same in every run, as "title text": said once above the table.
struct Split {
  std::vector<const Column*> varying;
  std::vector<std::string> common;
};
Split split_columns(const std::vector<const plan::Planned*>& runs);

}  // namespace orch::report
