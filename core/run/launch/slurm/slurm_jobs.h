#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/facts.h"

namespace orch::launch {

// Pure parsers for the output of squeue and sacct. Other lines are ignored.

// The fields that parse_queue() expects from squeue -O, and parse_accounting() from sacct -P.
extern const std::string_view kQueueFields;
extern const std::string_view kAccountingFields;
inline constexpr char kAccountingSeparator = '\x1f';

// A job, or a task of an array, as shown by squeue or sacct.
struct JobRow {
  std::string job;                  // the array's id, or the job's
  std::optional<std::size_t> task;  // of an array
  // The text that may contain a submission's id: the comment; for sacct, the name and the command
  // line too.
  std::string marks;
  record::JobFact fact;
};

// Only jobs whose comment has this prefix.
std::vector<JobRow> parse_queue(std::string_view text, std::string_view comment_prefix);

// Steps are merged into their jobs. A requeued job has several rows, the last start last.
std::vector<JobRow> parse_accounting(std::string_view text);

// True if the text contains a submission's id as a separate word.
bool carries(std::string_view marks, std::string_view submission_id);

// True if SLURM considers a job in this state ended: it will not run (again) by itself.
bool has_ended(std::string_view state);

// "1794729257" or "2026-11-15T07:54:17" (local time); 0 for N/A, Unknown and the like.
double parse_slurm_moment(std::string_view text);

// "0-2,5,7-11:2%4" as numbers; at most a million. Empty if the syntax is different.
std::vector<std::size_t> parse_tasks(std::string_view text);

// GPUs in a list of resources: "cpu=8,gres/gpu=4,gres/gpu:a100=4" or "gres:gpu:a100:4".
std::int64_t gpus_in(std::string_view resources);

}  // namespace orch::launch
