#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

// A serial job does several runs one after another in one allocation. Its script and orch
// communicate by files in the submission's folder, like a local supervisor: see task_files.h.
namespace orch::launch {

struct SerialRun {
  fs::path folder;            // absolute
  std::int64_t seconds = 60;  // time limit
};

// The script of a serial job. A run that fails, or takes longer than its limit, does not stop those
// after it. After a requeue the job goes on with the run that was interrupted.
std::string serial_script(std::string_view header, const std::vector<SerialRun>& runs);

// The limit in seconds that the header of a script asks for; nothing: none.
std::optional<double> time_limit(std::string_view header);

// Ends a run of a serial job, or keeps it from beginning; the others go on.
Status cancel_serial_run(const fs::path& submission_folder, std::size_t index);

// True if no run is left that was neither cancelled nor has ended: then the job can be cancelled.
bool is_all_cancelled(const record::Submission& submission, const fs::path& submission_folder);

// Replaces the fact about the job of a serial submission (that of task 0, if there is one) by facts
// about its runs. A run that a job did not get to has none once the job has ended.
void split_serial_job(const record::Submission& submission, const fs::path& folder, double now,
                      record::JobFacts& facts);

}  // namespace orch::launch
