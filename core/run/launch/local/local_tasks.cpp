#include "core/run/launch/local/local_tasks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
std::string text(const SupervisorId& id) { return fmt::format("{}.{}", id.pid, id.start); }

std::optional<SupervisorId> parse_supervisor_id(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto pid = number_from<pid_t>(text.substr(0, dot));
  const auto start = number_from<decltype(SupervisorId::start)>(text.substr(dot + 1));
  if (!pid || !start || *pid <= 0) return std::nullopt;
  return SupervisorId{*pid, *start};
}

SupervisorId own_supervisor_id() {
  const auto self = read_process(::getpid());
  return {::getpid(), self ? self->start : 0};
}

bool is_alive(const SupervisorId& id) {
  const auto process = read_process(id.pid);
  return process && process->start == id.start && process->state != 'Z' && process->state != 'X';
}

std::string task_job(const std::string& supervisor, bool array, std::size_t index) {
  return array ? fmt::format("{}_{}", supervisor, index) : supervisor;
}

TaskJob parse_task_job(const std::string& job) {
  const auto bar = job.find('_');
  if (bar == std::string::npos) return {job, 0};
  return {job.substr(0, bar), number_from<std::size_t>(job.substr(bar + 1)).value_or(0)};
}

Status write_note(const fs::path& folder, const SupervisorNote& note) {
  JsonWriter to;
  to.begin().field("host", note.host).field("waits_for", note.waits_for);
  return write_file_atomically(folder / "supervisor.json", std::move(to.end()).text());
}

SupervisorNote read_note(const fs::path& folder) {
  const auto content = read_file(folder / "supervisor.json");
  if (!content) return {};
  const auto json = parse_json(*content);
  if (!json.is_object()) return {};
  JsonFields fields(json);
  return {fields.text("host"), fields.text("waits_for")};
}

fs::path answer_file(const fs::path& folder) { return folder / "answer"; }

std::optional<std::string> read_answer(const fs::path& folder) {
  const auto content = read_file(answer_file(folder));
  if (!content) return std::nullopt;
  const auto job = std::string(trim(*content));
  if (!parse_supervisor_id(job)) return std::nullopt;
  return job;
}

SupervisorFolder::SupervisorFolder(const fs::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

// A folder without a name has no links left. ESTALE: another host deleted it (NFS).
bool SupervisorFolder::is_deleted() const {
  struct stat facts = {};
  if (!file_.is_open()) return ::stat(path_.c_str(), &facts) != 0 && errno == ENOENT;
  return ::fstat(file_.get(), &facts) == 0 ? facts.st_nlink == 0 : errno == ESTALE;
}

bool SupervisorFolder::asks_to_cancel(std::size_t index) const {
  return is_there(cancel_mark(path_, index)) || is_deleted();
}

}  // namespace orch::launch
