#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/record/ingest/ingest.h"

namespace orch::ingest {

// The patterns that orch comes with, with others before them.
Patterns shipped(const std::vector<fs::path>& others = {});

// A folder that is gone at the end.
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

// The log of a folder of cases/. In its log.txt a line "@ OTHER FIRST LAST" stands for these lines
// of another case's.
std::string log_of_case(const fs::path& folder);

// What is found in a string as a log.
Ingested read_text(std::string_view text);

// An iteration of Megatron-LM.
std::string iteration(long step, long of, double milliseconds, double loss);

}  // namespace orch::ingest
