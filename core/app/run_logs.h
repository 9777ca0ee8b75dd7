#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/record/facts.h"
#include "core/record/ingest/ingest.h"

namespace orch::app {

// The patterns that come with orch, and the user's, which have priority.
Result<ingest::Patterns> load_patterns(const fs::path& shipped,
                                       const std::vector<std::string>& more);

// The fields from the run.json of the run whose folder contains a file, by the columns of tables;
// empty if there is none.
ingest::KnownFacts known_beside(const fs::path& file);

// Reads the logs of attempts whose trainer writes no events, with the patterns of orch ingest. Each
// log is read once, and afterwards only its new part.
class RunLogs {
 public:
  // The progress of an attempt; nothing before its first step.
  std::optional<record::TrainingProgress> progress(const fs::path& attempt_folder, double now);
  // Why it failed, by its trainer's last event or its log; none: unknown.
  record::FailureReport confession(const fs::path& attempt_folder);
  // All attempts of a run together.
  std::optional<record::Record> history(const std::string& id,
                                        const std::vector<fs::path>& attempt_folders);

 private:
  struct Watched {
    ingest::RunLog log;
    std::int64_t step = -1;
    double since = 0;  // by the file system's clock: when the log got its last step
  };
  const ingest::Patterns* patterns();  // null: they cannot be read, which ingest reports
  Watched* look(const fs::path& attempt_folder);
  record::FailureReport log_confession(const fs::path& attempt_folder);

  std::optional<ingest::Patterns> patterns_;
  bool tried_ = false;
  std::map<fs::path, Watched> watched_;
};

}  // namespace orch::app
