#pragma once

#include <string>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::launch {

// attempts/<n> of a run, with the status.json that default.sbatch writes.
class LocalAttempt : public record::Attempt {
 public:
  // The first number that nobody has: who makes "flight" owns the attempt.
  static Result<LocalAttempt> claim(const fs::path& run_folder);

  // Beside its place, then renamed. A disk that is full is complained of on stderr.
  bool write() const;

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

// Text that may come from anywhere, as JSON can hold it.
std::string json_safe(const std::string& text);

}  // namespace orch::launch
