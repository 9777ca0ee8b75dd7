#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/show/tables/status.h"

namespace orch::tables {

// A column of a table of runs, and how much it is missed: the highest rank is the first to go on a
// narrow screen, 0 always stays.
struct StatusColumn {
  std::string title;
  int rank;
  std::function<std::string(const RunStatus&)> text;
};

// Where the runs stand, with what was measured so far.
std::vector<StatusColumn> status_columns(const Standings& standings,
                                         const std::vector<const RunStatus*>& runs);

// What was measured, then what was estimated of it, and how far that is off. All have a progress.
std::vector<StatusColumn> measured_columns(const std::vector<const RunStatus*>& runs,
                                           const Screen& screen);

// The columns in which something stands, as many as the screen has room for. A last one of rank 0
// counts for nothing: it goes below its row.
std::vector<std::vector<std::string>> rows_of(const std::vector<StatusColumn>& all,
                                              const std::vector<const RunStatus*>& runs,
                                              const Screen& screen);

}  // namespace orch::tables
