#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/record/ingest/ingest.h"

namespace orch::ingest {

// The patterns that orch includes. Other files take precedence over them.
Patterns shipped(const std::vector<fs::path>& others = {});

// A temporary folder. The destructor removes it.
class LogFolder {
 public:
  LogFolder();
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;
  fs::path write(const std::string& name, std::string_view text) const;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The log of a folder of cases/. In its log.txt, a line "@ OTHER FIRST LAST" is replaced by the
// lines FIRST to LAST of the log of another case.
std::string log_of_case(const fs::path& folder);

// Ingests a string as a log.
Ingested read_text(std::string_view text);

// The line of an iteration of Megatron-LM.
std::string iteration(long step, long of, double milliseconds, double loss);

}  // namespace orch::ingest
