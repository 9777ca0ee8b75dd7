#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/live_run.h"

namespace orch::store {

// <root>/index.jsonl: a summary of the run folders, so that a table of thousands of ended runs does
// not open thousands of files. Only a cache: a row is valid as long as the run's state.json is the
// file that it was made from. It is written as a whole, and among several processes the last writer
// wins: entries that get lost are added again.
class StoreIndex {
 public:
  struct Row : record::LiveRun {
    std::string stamp;  // of its state.json, by stamp_of()
  };

  explicit StoreIndex(const fs::path& root) : root_(root) {}

  // The rows of an experiment. Damaged rows, and an index of another version, are ignored.
  std::deque<Row> rows(const std::string& experiment);
  // Why it could not be read; then there are no rows.
  const std::string& why() const { return why_; }

  // Replaces all rows of the experiment.
  Status put(const std::string& experiment, const std::vector<Row>& rows) const;

 private:
  fs::path root_;
  std::string why_;
};

// Identifies the present version of a run's state.json; empty if there is none. Take it before
// reading the file.
std::string stamp_of(const fs::path& run_folder);

// Rebuilds the index from the folders below a root; returns the number of runs. Folders lack the
// scheduler's knowledge: a run without a state.json counts as planned. Runs that cannot be read are
// left out, and reported in *damaged.
Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged = nullptr);

}  // namespace orch::store
