#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace orch::record {

// SHA-256 of what an executor runs of a run's folder: the job's script (of a local run, run.json,
// which names the program) and start, with which a framework begins (empty: there is none).
struct Sums {
  std::string script, start;
};

// One hand-over to an executor: a call of sbatch, or a local supervisor. It is on disk before the
// call, and its id is on the job (as "orch:<id>" in its comment), so that one finds the other.
struct Submission {
  std::string id;                 // "0007-9f3c2ab81d04e657"
  std::string executor;           // slurm or local
  double time = 0;                // when it was written, seconds since 1970
  bool array = false;             // the n-th run is task n; else there is one run
  std::vector<std::string> runs;  // ids of run folders
  std::vector<Sums> sums;         // of each, as they were
  int phase = 1;                  // of the run's ramp-up, from 1
  std::string after;              // the submission of the phase before; empty: none
  std::string job;                // the executor's id of it; empty: not known
  std::string refused;            // why the executor did not take it; empty: it did, or may have
};

// The comment that a job carries.
inline std::string comment_of(const std::string& submission_id) { return "orch:" + submission_id; }

// The job id in what sbatch --parsable prints: a line "123" or "123;cluster"; or in what a local
// supervisor writes, "<pid>.<start>". Other lines are a site's greetings; two ids are none, and
// neither is a line that has no end: it may be half.
std::optional<std::string> parse_answer(std::string_view answer);

// What an executor says of one task of a submission, in SLURM's words.
struct JobFact {
  std::string state;   // PENDING, RUNNING, COMPLETED, FAILED, CANCELLED, TIMEOUT, NODE_FAIL,
                       // PREEMPTED, OUT_OF_MEMORY, BOOT_FAIL, DEADLINE, REQUEUED, ...
  std::string reason;  // why it pends, or why it ended: Resources, NonZeroExitCode, ...
  std::string job;     // the id of the task itself, as scancel takes it: "123" or "123_4"
  std::string nodes;   // "a100-[1-2]"
  bool out_of_memory = false;    // the job, or a step of it, was killed for memory
  std::optional<int> exit_code;  // of the batch script
  double start = 0;              // seconds since 1970; 0: not known
  double end = 0;
  double elapsed_seconds = 0;  // of the last start
  double gpu_hours = 0;        // over all restarts, where accounting tells; 0: not known
};

// A task of a submission: its place in Submission::runs.
struct TaskId {
  std::string submission;
  std::size_t index = 0;
  auto operator<=>(const TaskId&) const = default;
};

using JobFacts = std::map<TaskId, JobFact>;

// attempts/<n>/status.json: what the job script said of itself.
struct Attempt {
  int number = 0;
  std::string state;  // running, finished, left, stopped, cancelled, bad_nodes, failed
  std::string message;
  std::string job;         // SLURM_JOB_ID, or the supervisor's
  std::string submission;  // whose it is; empty: submitted by hand
  int phase = 1;
  int phases = 1;
  double start = 0;  // seconds since 1970
  double end = 0;    // 0: it did not end, or could not say so
  std::string signal;
  std::optional<int> exit_code;
  std::vector<std::string> nodes;
  std::vector<std::string> bad_nodes;
  std::int64_t gpus = 0;  // that the job held, spare nodes included; 0: it did not say
  double seen = 0;        // when its log last grew, seconds since 1970
};

// How far an attempt got, and how long ago its last sign of life was, by the file system's clock.
struct Progress {
  Measurement measured;
  double age = 0;  // seconds
};

// What the tail of a log, or the trainer's last event, confesses.
struct Confession {
  Failure failure = Failure::none;
  std::string line;  // the one that says it, printable
};

}  // namespace orch::record
