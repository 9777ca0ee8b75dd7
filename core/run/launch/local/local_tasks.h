#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/result.h"
#include "core/record/facts.h"
#include "core/run/launch/task_files.h"

namespace orch::launch {

// The files by which a supervisor and its clients communicate in a submission's folder:
//   answer            its job id, written once by the supervisor
//   supervisor.json   its host, and what it waits for
//   supervisor.log    its stdout and stderr
// and those of core/run/launch/task_files.h.

// "<pid>.<start>": identifies a process even after its pid has been reused.
struct SupervisorId {
  pid_t pid = 0;
  unsigned long long start = 0;  // clock ticks since boot
};
std::string text(const SupervisorId& id);
std::optional<SupervisorId> parse_supervisor_id(std::string_view text);
SupervisorId own_supervisor_id();
bool is_alive(const SupervisorId& id);

// The id of a task: the supervisor's, with "_<index>" in an array.
struct TaskJob {
  std::string supervisor;
  std::size_t index = 0;
};
std::string task_job(const std::string& supervisor, bool array, std::size_t index);
TaskJob parse_task_job(const std::string& job);

struct SupervisorNote {
  std::string host;
  std::string waits_for;  // empty: it is working
};
Status write_note(const fs::path& submission_folder, const SupervisorNote& note);
SupervisorNote read_note(const fs::path& submission_folder);  // an empty note if there is no file

fs::path answer_file(const fs::path& submission_folder);
std::optional<std::string> read_answer(const fs::path& submission_folder);

// The folder of a submission, through which others send requests to its supervisor.
class SupervisorFolder {
 public:
  explicit SupervisorFolder(const fs::path& path);  // keeps it open

  const fs::path& path() const { return path_; }
  // False if the folder was only moved, or is unreachable for a while.
  bool is_deleted() const;
  // True if there is a mark, or if the folder is deleted: then no mark can come and the result
  // cannot be stored.
  bool asks_to_cancel(std::size_t index) const;

 private:
  fs::path path_;
  Descriptor file_;
};

}  // namespace orch::launch
