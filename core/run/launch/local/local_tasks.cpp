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
namespace {

fs::path task_file(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("task.{}.json", index);
}

}  // namespace

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

Status write_task(const fs::path& folder, std::size_t index, const record::JobFact& task) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("state", task.state)
      .field("reason", task.reason)
      .field("exit_code", std::int64_t{task.exit_code.value_or(0)})
      .field("start", task.start)
      .field("end", task.end)
      .field("gpu_hours", task.gpu_hours);
  return write_file_atomically(task_file(folder, index), std::move(to.end()).text());
}

Result<std::optional<record::JobFact>> read_task(const fs::path& folder, std::size_t index) {
  const auto file = task_file(folder, index);
  const JsonOptions options{.fix = "look at the run's attempts"};
  const auto json = read_json(file, options);
  if (!json) return json.error();
  if (!*json) return std::optional<record::JobFact>();
  JsonFields fields(**json);
  record::JobFact task;
  task.state = fields.text("state");
  task.out_of_memory = task.state == "OUT_OF_MEMORY";
  task.reason = fields.text("reason");
  const int code = static_cast<int>(fields.whole("exit_code", -1'000'000, 1'000'000));
  task.start = fields.number("start");
  task.end = fields.number("end");
  if (task.end > 0) {
    task.exit_code = code;
    task.elapsed_seconds = std::max(0.0, task.end - task.start);
  }
  task.gpu_hours = fields.number_or("gpu_hours", 0);
  if (!fields.problems().empty()) return damaged(file, fields.problem(), options.fix);
  return std::optional(task);
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

fs::path cancel_mark(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("cancel.{}", index);
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
