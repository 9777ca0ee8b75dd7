#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace orch::record {

// SHA-256 of the files of a run that an executor executes: the job's script (for a local run,
// run.json, which names the program) and `start`, which starts a framework (empty: there is none).
struct ScriptSums {
  std::string script, start;
};

// One submission to an executor: a call of sbatch, or a local supervisor. It is written to disk
// before the call, and its id is stored in the job (as "orch:<id>" in its comment), so that each
// can be found from the other.
struct Submission {
  std::string id;                 // "0007-9f3c2ab81d04e657"
  std::string executor;           // slurm or local
  double time = 0;                // when it was written, seconds since 1970
  bool array = false;             // true: the n-th run is task n
  bool serial = false;            // true: one job does the runs one after another
  std::vector<std::string> runs;  // ids of run folders
  std::vector<ScriptSums> sums;   // one per run, at the time of submission
  int phase = 1;                  // phase of the run's ramp-up, from 1
  std::string after;              // the submission of the previous phase; empty: none
  std::string job;                // the executor's id; empty: unknown
  std::string refused;            // why it was refused; empty: it was not, or unknown

  std::size_t tasks() const { return array ? runs.size() : 1; }  // of the executor
};

// The comment of a submission's job.
inline std::string comment_of(const std::string& submission_id) { return "orch:" + submission_id; }

// The job id in the output of sbatch --parsable: a line "123" or "123;cluster"; or in what a local
// supervisor writes, "<pid>.<start>". Other lines are a site's greetings. Two ids are ambiguous and
// give nothing; a line without its end is ignored, because it may be incomplete.
std::optional<std::string> parse_answer(std::string_view answer);

// An executor's report about one task of a submission, in SLURM's terms.
struct JobFact {
  std::string state;   // PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL,
                       // PREEMPTED, OUT_OF_MEMORY, BOOT_FAIL, DEADLINE, REQUEUED, ...
  std::string reason;  // why it is pending, or why it ended: Resources, NonZeroExitCode, ...
  std::string job;     // the id of the task itself, in scancel's syntax: "123" or "123_4"
  std::string nodes;   // "a100-[1-2]"
  bool out_of_memory = false;    // the job, or a step of it, was killed for memory
  std::optional<int> exit_code;  // of the batch script
  double start = 0;              // seconds since 1970; 0: unknown
  double end = 0;
  double elapsed_seconds = 0;  // since the last start
  double gpu_hours = 0;        // over all restarts, if accounting reports it; 0: unknown
};

// A task of a submission; `index` is its place in Submission::runs.
struct TaskId {
  std::string submission;
  std::size_t index = 0;
  auto operator<=>(const TaskId&) const = default;
};

using JobFacts = std::map<TaskId, JobFact>;

// attempts/<n>/status.json: the job script's own report.
struct Attempt {
  int number = 0;
  std::string state;  // running, finished, left, stopped, cancelled, bad_nodes, failed
  std::string message;
  std::string job;         // SLURM_JOB_ID, or the supervisor's
  std::string submission;  // the submission's id; empty: submitted by hand
  int phase = 1;
  int phases = 1;
  double start = 0;  // seconds since 1970
  double end = 0;    // 0: it did not end, or could not report its end
  std::string signal;
  std::optional<int> exit_code;
  std::vector<std::string> nodes;
  std::vector<std::string> bad_nodes;
  std::int64_t gpus = 0;  // allocated to the job, spare nodes included; 0: unknown
  double seen = 0;        // when its log was last written, seconds since 1970
};

// The progress of an attempt, and the time since its last sign of life, by the file system's clock.
struct TrainingProgress {
  Measurement measured;
  double age = 0;  // seconds
};

// The reason of a failure, found in the end of a log or in the trainer's last event.
struct FailureReport {
  Failure failure = Failure::none;
  std::string line;  // the line with the reason, printable
};

}  // namespace orch::record
