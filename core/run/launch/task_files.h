#pragma once

#include <optional>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

// The files in a submission's folder by which a local supervisor, or the script of a serial job,
// and orch communicate about its runs:
//   task.<n>.json     the n-th run, at its start and at its end
//   cancel.<n>        a mark: end this run, or do not begin it
namespace orch::launch {

// Writes that a run is RUNNING, or how it ended; a running one has no end.
Status write_task(const fs::path& submission_folder, std::size_t index,
                  const record::JobFact& task);
// Nothing if it has not begun; an error if the file is damaged.
Result<std::optional<record::JobFact>> read_task(const fs::path& submission_folder,
                                                 std::size_t index);

fs::path cancel_mark(const fs::path& submission_folder, std::size_t index);
Status mark(const fs::path& file);  // creates it empty, if no other process has

}  // namespace orch::launch
