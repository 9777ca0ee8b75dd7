#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/record/published/samples.h"
#include "core/record/published/table.h"

namespace orch::app {

// Measured rows as runs, with additional knowledge about them.
struct MeasuredRows {
  published::PublishedSamples samples;
  std::map<std::string, published::UnexplainedRow> unexplained;  // by id

  // Rows that are scored separately and used for no fit.
  std::set<std::string> apart() const;
};

// Checks that the cluster exists; "" names none.
Status check_cluster(App& app, const std::string& cluster);

// Loads the rows of tables, logs and folders of logs, or the published ones that come with orch if
// none is named. The cluster is for rows with an unknown site.
Result<MeasuredRows> load_rows(App& app, const std::vector<std::string>& files,
                               const std::string& cluster);

// Reads rows as written; shipped_tables lists the files that come with orch. Habits fill empty
// cells.
Result<std::vector<record::Record>> read_table(App& app, const fs::path& file);
Result<std::vector<fs::path>> shipped_tables(const App& app);

// What the conversion of rows to runs needs: our clusters, with one for rows of other sites, and
// our backends.
published::SampleMachines machines(App& app, const std::string& otherwise);
plan::CheckBackend check_backend(App& app);

}  // namespace orch::app
