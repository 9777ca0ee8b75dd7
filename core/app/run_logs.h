#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/record/facts.h"
#include "core/record/ingest/ingest.h"

namespace orch::app {

// The patterns that come with orch, then the user's, which go before them.
Result<ingest::Patterns> load_patterns(const fs::path& shipped,
                                       const std::vector<std::string>& more);

// What run.json says of the run that a file lies in the folder of, by the columns of tables;
// nothing where there is none.
ingest::Known known_beside(const fs::path& file);

// What the logs of attempts say where a trainer's events do not, by the patterns of orch ingest.
// Each log is read once, and then what is new in it.
class RunLogs {
 public:
  // How far an attempt got; nothing before its first step.
  std::optional<record::Progress> progress(const fs::path& attempt_folder, double now);
  // What it failed of, by its trainer's last word or its log; none: neither says.
  record::Confession confession(const fs::path& attempt_folder);
  // All attempts of a run together.
  std::optional<record::Record> history(const std::string& id,
                                        const std::vector<fs::path>& attempt_folders);

 private:
  struct Watched {
    ingest::RunLog log;
    std::int64_t step = -1;
    double since = 0;  // by the file system's clock: the log grew by its last step
  };
  const ingest::Patterns* patterns();  // null: they cannot be read, which ingest tells
  Watched* look(const fs::path& attempt_folder);
  record::Confession log_confession(const fs::path& attempt_folder);

  std::optional<ingest::Patterns> patterns_;
  bool tried_ = false;
  std::map<fs::path, Watched> watched_;
};

}  // namespace orch::app
