#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/live_run.h"

namespace orch::store {

// <root>/index.jsonl: what the run folders say, so that a table of thousands of runs that ended
// does not open thousands of files. Never the truth: a row counts as long as the run's state.json
// is the file that it was made from. It is written whole, and of several processes the last one
// stays: what another had found is found again.
class Index {
 public:
  struct Row : record::LiveRun {
    std::string stamp;  // of its state.json, see stamp_of
  };

  explicit Index(const fs::path& root) : root_(root) {}

  // The rows of an experiment that still count. One that is damaged or of another version is none.
  std::deque<Row> rows(const std::string& experiment);
  // Why it could not be read; then there are no rows.
  const std::string& why() const { return why_; }

  // In the place of all that it has of the experiment.
  Status put(const std::string& experiment, const std::vector<Row>& rows) const;

 private:
  fs::path root_;
  std::string why_;
};

// What tells a run's state.json from one that is written later; empty where there is none. To be
// taken before the file is read.
std::string stamp_of(const fs::path& run_folder);

// Makes the index anew from the folders below a root; the number of runs in it. The folders do not
// say what a scheduler knows: a run without a state.json is planned. Runs that cannot be read are
// left out, and told in *damaged.
Result<std::size_t> rebuild_index(const fs::path& root, Errors* damaged = nullptr);

}  // namespace orch::store
