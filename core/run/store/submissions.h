#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

namespace orch::store {

// runs/<experiment>/submissions/<id>/: submission.json, frozen, the array's script (array.sbatch)
// where there is one, and what became of the call: answer (the executor's stdout: the job id,
// written by the called program itself, so that it is there even if orch is not), job (the id as
// orch noted it), refused. The folder appears whole, and before the call.
struct OpenedSubmission {
  record::Submission submission;  // with job from "job" or, if that is missing, from "answer"
  fs::path folder;
};

// All submissions of an experiment in the order of their ids. Damaged ones are errors, or left out
// and told in *damaged. Entries that are not named like a submission are passed over.
Result<std::vector<OpenedSubmission>> read_submissions(const fs::path& experiment_folder,
                                                       Errors* damaged = nullptr);

// Makes the folder of a new submission: the number after the last one and 16 random digits.
// script: the text of array.sbatch, or empty. Sets submission.id.
Result<fs::path> write_submission(const fs::path& experiment_folder, record::Submission& submission,
                                  const std::string& script);

// Notes the executor's id, or its refusal, durably.
Status note_job(const fs::path& submission_folder, const std::string& job);
Status note_refusal(const fs::path& submission_folder, const std::string& message);

// Takes back a submission that the executor has certainly not seen.
void drop_submission(const fs::path& submission_folder);

}  // namespace orch::store
