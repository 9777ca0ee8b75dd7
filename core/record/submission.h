#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orch::record {

// One hand-over to an executor: a call of sbatch, or a local supervisor. It is on disk before the
// call, and its id is on the job (as "orch:<id>" in its comment), so that one finds the other.
struct Submission {
  std::string id;                 // "0007-9f3c2ab81d04e657"
  std::string executor;           // slurm or local
  double time = 0;                // when it was written, seconds since 1970
  bool array = false;             // the n-th run is task n; else there is one run
  std::vector<std::string> runs;  // ids of run folders
  int phase = 1;                  // of the run's ramp-up, from 1
  std::string after;              // the submission of the phase before; empty: none
  std::string job;                // the executor's id of it; empty: not known
  std::string refused;            // why the executor did not take it; empty: it did, or may have
};

// The comment that a job carries.
inline std::string comment_of(const std::string& submission_id) { return "orch:" + submission_id; }

// The job id in what sbatch --parsable prints: a line "123" or "123;cluster"; or in what a local
// supervisor writes, "<pid>.<start>". Other lines are a site's greetings; two ids are none, and neither
// is a line that has no end: it may be half.
std::optional<std::string> parse_answer(std::string_view answer);

}  // namespace orch::record
