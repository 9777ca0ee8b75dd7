#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::launch {

// attempts/<n> of a run, with the status.json that default.sbatch writes.
class LocalAttempt {
 public:
  // The first number that nobody has: who makes "flight" owns the attempt.
  static Result<LocalAttempt> claim(const fs::path& run_folder);

  // Beside its place, then renamed. A disk that is full is complained of on stderr.
  bool write() const;

  const fs::path& folder() const { return folder_; }
  int number() const { return number_; }

  std::string state = "running";  // then finished, left, stopped, cancelled, bad_nodes, failed
  std::string message;
  std::string job;
  std::string submission;
  double start = 0;    // seconds since 1970
  double end = 0;      // 0: not yet
  std::string signal;  // the last one that the ranks got
  int exit_code = -1;  // -1: not yet
  std::int64_t ranks = 0;
  std::vector<std::string> nodes;
  std::vector<std::string> bad_nodes;

 private:
  fs::path folder_;
  int number_ = 0;
};

// Text that may come from anywhere, as JSON can hold it.
std::string json_safe(const std::string& text);

}  // namespace orch::launch
