#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::store {

// runs/<experiment>/submissions/<id>/: submission.json, frozen, the script of an array or of a
// serial job if there is one (array.sbatch, serial.sbatch), and the result of the call: answer (the
// executor's stdout with the job id, written by the called program itself, so that it exists even
// if orch does not), job (the id as orch recorded it), refused. The folder appears as a whole,
// before the call.
struct OpenedSubmission {
  record::Submission submission;  // the job id is from "job", or else from "answer"
  fs::path folder;
};

// All submissions of an experiment in the order of their ids. Damaged ones are errors, or left out
// and reported in *damaged. Entries with other names are ignored.
Result<std::vector<OpenedSubmission>> read_submissions(const fs::path& experiment_folder,
                                                       Errors* damaged = nullptr);

// "array.sbatch" or "serial.sbatch".
const char* script_name(bool serial);

// Creates the folder of a new submission: the next number and 16 random digits. script: the text of
// its script, or empty. Sets submission.id.
Result<fs::path> write_submission(const fs::path& experiment_folder, record::Submission& submission,
                                  const std::string& script);

// Records the executor's id, or its refusal, durably.
Status note_job(const fs::path& submission_folder, const std::string& job);
Status note_refusal(const fs::path& submission_folder, const std::string& message);

// Removes a submission that the executor has certainly not seen.
void drop_submission(const fs::path& submission_folder);

}  // namespace orch::store
