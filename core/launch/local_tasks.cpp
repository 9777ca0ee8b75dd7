#include "core/launch/local_tasks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/launch/local_machine.h"

namespace orch::launch {
namespace {

using Json = nlohmann::json;

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
  std::error_code code;
  if (!fs::exists(file, code) && !code) return std::optional<LocalTask>();
  const auto content = read_file(file);
  if (!content) return content.error();
  try {
    const auto json = Json::parse(*content);
    LocalTask task;
    task.state = json.at("state").get<std::string>();
    task.reason = json.at("reason").get<std::string>();
    task.exit_code = json.at("exit_code").get<int>();
    task.start = json.at("start").get<double>();
    task.end = json.at("end").get<double>();
    task.ranks = json.at("ranks").get<int>();
    task.attempt = json.at("attempt").get<int>();
    return std::optional(task);
  } catch (const Json::exception& error) {
    return Error{printable(file.string()), printable(error.what()), "look at the run's attempts"};
  }
}

Status write_note(const fs::path& folder, const SupervisorNote& note) {
  JsonWriter to;
  to.begin().field("host", note.host).field("waits_for", note.waits_for);
  return write_file_atomically(folder / "supervisor.json", std::move(to.end()).text());
}

SupervisorNote read_note(const fs::path& folder) {
  const auto content = read_file(folder / "supervisor.json");
  if (!content) return {};
  const auto json = Json::parse(*content, nullptr, false);
  if (!json.is_object()) return {};
  const auto word = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return {word("host"), word("waits_for")};
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
