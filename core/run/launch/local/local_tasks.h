#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"

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

// A run that is RUNNING, or how it ended; it has no end as long as it runs.
Status write_task(const fs::path& submission_folder, std::size_t index,
                  const record::JobFact& task);
// Nothing if it has not begun; an error if the file is damaged.
Result<std::optional<record::JobFact>> read_task(const fs::path& submission_folder,
                                                 std::size_t index);

struct SupervisorNote {
  std::string host;
  std::string waits_for;  // empty: it works
};
Status write_note(const fs::path& submission_folder, const SupervisorNote& note);
SupervisorNote read_note(const fs::path& submission_folder);  // empty where there is none

fs::path answer_file(const fs::path& submission_folder);
std::optional<std::string> read_answer(const fs::path& submission_folder);
fs::path cancel_mark(const fs::path& submission_folder, std::size_t index);

// The folder of a submission, by which others tell its supervisor what to do.
class SupervisorFolder {
 public:
  explicit SupervisorFolder(const fs::path& path);  // holds it open

  const fs::path& path() const { return path_; }
  // Not where it was only moved, or is out of reach for a while.
  bool is_deleted() const;
  // By a mark; or it is deleted, for then no mark will come and nobody learns how the run ends.
  bool asks_to_cancel(std::size_t index) const;

 private:
  fs::path path_;
  Descriptor file_;
};

}  // namespace orch::launch
