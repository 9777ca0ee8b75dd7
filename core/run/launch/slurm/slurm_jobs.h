#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/facts.h"

namespace orch::launch {

// Pure readers of what squeue and sacct print. Lines that are not theirs are left out.

// The fields that parse_queue() expects of squeue -O, and parse_accounting() of sacct -P.
extern const std::string_view kQueueFields;
extern const std::string_view kAccountingFields;
inline constexpr char kAccountingSeparator = '\x1f';

// A job, or a task of an array, as squeue or sacct show it.
struct JobRow {
  std::string job;                  // the array's id, or the job's
  std::optional<std::size_t> task;  // of an array
  // Where a submission's id can be: the comment; of sacct, the name and the command line too.
  std::string marks;
  record::JobFact fact;
};

// Only those whose comment begins so.
std::vector<JobRow> parse_queue(std::string_view text, std::string_view comment_prefix);

// Steps are folded into their jobs. One that was requeued has several rows, the last of them last.
std::vector<JobRow> parse_accounting(std::string_view text);

// Whether a submission's id is in them as a word of its own.
bool carries(std::string_view marks, std::string_view submission_id);

// Whether SLURM calls a job in this state done: it will not run (again) by itself.
bool has_ended(std::string_view state);

// "1794729257" or "2026-11-15T07:54:17" (local time); 0 for N/A, Unknown and the like.
double parse_slurm_moment(std::string_view text);

// "0-2,5,7-11:2%4" as numbers; at most a million. Empty if it is not of that kind.
std::vector<std::size_t> parse_tasks(std::string_view text);

// GPUs in a list of resources: "cpu=8,gres/gpu=4,gres/gpu:a100=4" or "gres:gpu:a100:4".
std::int64_t gpus_in(std::string_view resources);

}  // namespace orch::launch
