#pragma once

#include <string>
#include <vector>

#include "core/cli/app.h"
#include "core/cli/calibrate.h"

namespace orch::cli {

// A group with what its rows say.
struct Fitted {
  Group group;
  plan::Calibration calibration;
  std::string rows;
  measured::Score before, after;  // of the same rows

  plan::Partition was() const;  // before
  double era_was(const std::string& until) const;
};

// Whether a cluster can be written there: <name>.yaml, and no file of another kind. "" is no place.
Status check_output(const std::string& output);

// Puts the calibrations into the files of their clusters, or into one other file. All texts are
// made and read again before the first is written.
Status write_clusters(App& app, const std::vector<Fitted>& fitted, const std::string& output);

}  // namespace orch::cli
