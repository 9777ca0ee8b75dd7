#include "core/run/launch/local/local_tasks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <limits>

#include "core/base/json_fields.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
namespace {

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

fs::path task_file(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("task.{}.json", index);
}

}  // namespace

std::string text(const SupervisorId& id) { return fmt::format("{}.{}", id.pid, id.start); }

std::optional<SupervisorId> parse_supervisor_id(std::string_view text) {
  const auto dot = text.find('.');
  SupervisorId id;
  if (dot == std::string_view::npos || !parse_number(text.substr(0, dot), id.pid) ||
      !parse_number(text.substr(dot + 1), id.start) || id.pid <= 0)
    return std::nullopt;
  return id;
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
  TaskJob task{job.substr(0, bar), 0};
  if (bar != std::string::npos) parse_number(std::string_view(job).substr(bar + 1), task.index);
  return task;
}

Status write_task(const fs::path& folder, std::size_t index, const LocalTask& task) {
  JsonWriter to;
  to.begin()
      .field("version", std::int64_t{1})
      .field("state", task.state)
      .field("reason", task.reason)
      .field("exit_code", std::int64_t{task.exit_code})
      .field("start", task.start)
      .field("end", task.end)
      .field("ranks", std::int64_t{task.ranks})
      .field("attempt", std::int64_t{task.attempt});
  return write_file_atomically(task_file(folder, index), std::move(to.end()).text());
}

Result<std::optional<LocalTask>> read_task(const fs::path& folder, std::size_t index) {
  const auto file = task_file(folder, index);
  const JsonOptions options{.fix = "look at the run's attempts"};
  const auto json = read_json(file, options);
  if (!json) return json.error();
  if (!*json) return std::optional<LocalTask>();
  Fields fields(**json);
  const auto number = [&](const char* key) {
    return static_cast<int>(fields.whole(key, std::numeric_limits<int>::min(),
                                         std::numeric_limits<int>::max()));
  };
  LocalTask task;
  task.state = fields.text("state");
  task.reason = fields.text("reason");
  task.exit_code = number("exit_code");
  task.start = fields.number("start");
  task.end = fields.number("end");
  task.ranks = number("ranks");
  task.attempt = number("attempt");
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
  Fields fields(json);
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

}  // namespace orch::launch
