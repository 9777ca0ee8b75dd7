#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace orch::launch {

// The fields of sacct that a history needs, and a command that prints it for all jobs of a site.
inline constexpr std::string_view kHistoryFields =
    "JobID,JobIDRaw,Partition,State,Submit,Eligible,Start,End,NNodes,AllocTRES";
std::string history_command();

// One start of a job, or a job that never started. A requeued job has several.
struct PastJob {
  std::string job;        // "123" or "123_4"
  std::string raw;        // the id that the job itself sees: 127 for 123_4; empty: unknown
  std::string partition;  // empty: unknown
  std::string state;      // "CANCELLED by 1000" is CANCELLED
  double waiting = 0;     // since when it could start (or was submitted), seconds since 1970
  double start = 0;       // 0: it did not start
  double end = 0;         // of one that has not ended: the last moment in the text
  bool ended = false;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;  // 0: none, or not recorded

  double hours() const { return start > 0 && end > start ? (end - start) / 3600 : 0; }
};

struct JobHistory {
  std::vector<PastJob> jobs;
  std::size_t steps = 0;       // lines of job steps, which are not used
  std::size_t unreadable = 0;  // lines with another number of fields
  std::size_t repeated = 0;    // lines about a start that another line is about

  // True if the site records GPUs: then a job without any has none.
  bool tells_gpus() const;
  // Adds jobs of another text; what both are about counts once, by the later knowledge.
  void add(JobHistory other);
};

// Parses the output of sacct -P with a header line; columns may be in any order, others are
// ignored. A missing column is an error that names it.
Result<JobHistory> parse_job_history(std::string_view text, const std::string& file);

}  // namespace orch::launch
