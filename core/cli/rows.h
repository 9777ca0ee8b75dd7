#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/cli/app.h"
#include "core/measured/samples.h"
#include "core/measured/unexplained.h"

namespace orch::cli {

// Measured rows as runs, with what is known about them besides.
struct MeasuredRows {
  measured::Samples samples;
  std::map<std::string, measured::Unexplained> unexplained;  // by id

  // Rows that are shown apart and that no constant is fitted to.
  std::set<std::string> apart() const;
};

// Whether there is such a cluster, beside the files or among the shipped ones; "" names none.
Status check_cluster(App& app, const std::vector<std::string>& files, const std::string& cluster);

// The rows of some files, or the published ones that come with orch if none is named. The cluster
// is for rows whose site is not known.
Result<MeasuredRows> load_rows(App& app, const std::vector<std::string>& files,
                               const std::string& cluster);

}  // namespace orch::cli
