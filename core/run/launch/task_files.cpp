#include "core/run/launch/task_files.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/json_fields.h"
#include "core/base/json_writer.h"

namespace orch::launch {
namespace {

fs::path task_file(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("task.{}.json", index);
}

}  // namespace

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

Status mark(const fs::path& file) {
  const Descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return made.is_open() ? Status() : file_error(file, "cannot create", errno);
}

fs::path cancel_mark(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("cancel.{}", index);
}

}  // namespace orch::launch
