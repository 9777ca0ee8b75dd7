#pragma once

#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::launch {

// attempts/<n> of a run, with the same status.json as default.sbatch writes.
class LocalAttempt : public record::Attempt {
 public:
  // Takes the first free number: the process that creates "flight" owns the attempt.
  static Result<LocalAttempt> claim(const fs::path& run_folder);

  // Written to a temporary file, then renamed. A full disk is reported on stderr.
  bool write() const;

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

// Text from an unknown source, made valid for JSON.
std::string json_safe(const std::string& text);

}  // namespace orch::launch
