#pragma once

#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/record/ingest/ingest.h"

namespace orch::ingest {

// The file of a job that has its steps, where this one has its errors: job-7.out for job-7.err (or
// .log, .txt), job.o7 for job.e7. Nothing: the name is not that of such a file. It need not exist.
std::vector<std::string> outputs_beside(const fs::path& errors);

// Whether a log says nothing but how something ended.
bool only_ended(const record::Record& found);

// How a job ended by its file of errors. It counts where the run just ends in the other file and
// began once there: of several starts nobody knows which one failed. A traceback alone may be a
// warning that someone printed. After an end it is a note.
void take_end(const record::Record& errors, record::Record& run);

}  // namespace orch::ingest
