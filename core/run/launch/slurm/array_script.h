#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace orch::launch {

// The #SBATCH lines of a job script, without those that are the run's own (job-name, comment and
// output): runs whose headers are equal can be tasks of one array.
std::string header_of(std::string_view script);

// The script of an array whose task n is the run in the n-th folder (absolute): it becomes that
// run's job.sbatch, if that is as it was when submission.json was written.
std::string array_script(std::string_view header, const std::vector<fs::path>& run_folders);

// Whether jobs submitted from this folder (absolute) may have a log there: SLURM expands '%' in the
// whole path of a log and drops '\', and such a job does not even start.
bool can_log_below(const fs::path& folder);

}  // namespace orch::launch
