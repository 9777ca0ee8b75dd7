#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace orch::launch {

// The #SBATCH lines of a job script, without the run-specific ones (job-name, comment and output):
// runs with equal headers can be tasks of one array.
std::string header_of(std::string_view script);

// Text as a word of bash in one line: a script that contains "\r\n" is refused.
std::string quote_line(const std::string& text);

// The script of an array whose task n is the run in the n-th folder (absolute): it executes that
// run's job.sbatch, if that is unchanged since submission.json was written.
std::string array_script(std::string_view header, const std::vector<fs::path>& run_folders);

// True if jobs submitted from this folder (absolute) can have a log there: SLURM expands '%' in the
// whole path of a log and drops '\', and such a job does not even start.
bool can_log_below(const fs::path& folder);

}  // namespace orch::launch
