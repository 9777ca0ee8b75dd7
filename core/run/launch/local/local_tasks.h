#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::launch {

// What a supervisor and those who ask about it leave in a submission's folder:
//   answer            its job id, written once by itself
//   supervisor.json   its host, and what it waits for
//   supervisor.log    its stdout and stderr
//   task.<n>.json     the n-th run, at its start and at its end
//   cancel.<n>        a mark: end this run, or do not begin it

// "<pid>.<start>": a process, and not the one that has its number next.
struct SupervisorId {
  pid_t pid = 0;
  unsigned long long start = 0;  // in clock ticks since boot
};
std::string text(const SupervisorId& id);
std::optional<SupervisorId> parse_supervisor_id(std::string_view text);
SupervisorId own_supervisor_id();
bool is_alive(const SupervisorId& id);

// The id of a task: the supervisor's, and "_<index>" behind it in an array.
struct TaskJob {
  std::string supervisor;
  std::size_t index = 0;
};
std::string task_job(const std::string& supervisor, bool array, std::size_t index);
TaskJob parse_task_job(const std::string& job);

struct LocalTask {
  std::string state;   // RUNNING, or how it ended, in SLURM's words
  std::string reason;  // why it ended
  int exit_code = 0;
  double start = 0;  // seconds since 1970
  double end = 0;    // 0: it runs
  int ranks = 0;
  int attempt = 0;  // 0: none was begun
};
Status write_task(const fs::path& submission_folder, std::size_t index, const LocalTask& task);
// Nothing if it has not begun; an error if the file is damaged.
Result<std::optional<LocalTask>> read_task(const fs::path& submission_folder, std::size_t index);

struct SupervisorNote {
  std::string host;
  std::string waits_for;  // empty: it works
};
Status write_note(const fs::path& submission_folder, const SupervisorNote& note);
SupervisorNote read_note(const fs::path& submission_folder);  // empty where there is none

fs::path answer_file(const fs::path& submission_folder);
std::optional<std::string> read_answer(const fs::path& submission_folder);
fs::path cancel_mark(const fs::path& submission_folder, std::size_t index);

}  // namespace orch::launch
