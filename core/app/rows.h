#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/record/published/samples.h"
#include "core/record/published/table.h"

namespace orch::app {

// Measured rows as runs, with what is known about them besides.
struct MeasuredRows {
  published::Samples samples;
  std::map<std::string, published::Unexplained> unexplained;  // by id

  // Rows that are shown apart and that no constant is fitted to.
  std::set<std::string> apart() const;
};

// Whether there is such a cluster; "" names none.
Status check_cluster(App& app, const std::string& cluster);

// The rows of some tables, logs and folders of logs, or the published ones that come with orch if
// none is named. The cluster is for rows whose site is not known.
Result<MeasuredRows> load_rows(App& app, const std::vector<std::string>& files,
                               const std::string& cluster);

// The rows themselves, as they are written, and the files of those that come with orch. Habits fill
// empty cells.
Result<std::vector<record::Record>> read_table(App& app, const fs::path& file);
Result<std::vector<fs::path>> shipped_tables(const App& app);

// For turning rows into runs: our clusters, with one for rows of other sites, and our backends.
published::Machines machines(App& app, const std::string& otherwise);
plan::CheckBackend check_backend(App& app);

}  // namespace orch::app
