#include "core/run/launch/local/supervisor_attempt.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "core/base/date.h"
#include "core/base/json_writer.h"

namespace orch::launch {
namespace {

void field_or_null(JsonWriter& to, const char* key, const std::string& text) {
  if (text.empty())
    to.null(key);
  else
    to.field(key, json_safe(text));
}

std::string moment(double seconds) { return seconds > 0 ? format_moment(seconds) : ""; }

void list(JsonWriter& to, const char* key, const std::vector<std::string>& items) {
  to.begin_list(key);
  for (const auto& item : items) to.item(json_safe(item));
  to.end_list();
}

}  // namespace

std::string json_safe(const std::string& text) {
  std::string safe = text;
  for (auto& c : safe)
    if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte >= 0x7f) c = '?';
  return safe;
}

Result<LocalAttempt> LocalAttempt::claim(const fs::path& run_folder) {
  LocalAttempt attempt;
  attempt.state = "running";
  for (attempt.number = 1;; ++attempt.number) {
    attempt.folder_ = run_folder / "attempts" / std::to_string(attempt.number);
    std::error_code code;
    fs::create_directories(attempt.folder_, code);
    const auto flight = attempt.folder_ / "flight";
    if (::mkdir(flight.c_str(), 0777) == 0) return attempt;
    const int why = errno;
    if (!fs::is_directory(flight, code)) return file_error(attempt.folder_, "cannot write in", why);
  }
}

bool LocalAttempt::write() const {
  JsonWriter to;
  to.begin().field("version", std::int64_t{1}).field("state", state);
  field_or_null(to, "message", message);
  field_or_null(to, "job_id", job);
  field_or_null(to, "submission", submission);
  to.field("restart_count", std::int64_t{0})
      .field("phase", std::int64_t{phase})
      .field("phases", std::int64_t{phases})
      .field("gpus", gpus);
  field_or_null(to, "start", moment(start));
  field_or_null(to, "end", moment(end));
  field_or_null(to, "signal", signal);
  if (exit_code)
    to.field("exit_code", std::int64_t{*exit_code});
  else
    to.null("exit_code");
  list(to, "nodes", nodes);
  list(to, "bad_nodes", bad_nodes);
  const auto status = write_file_atomically(folder_ / "status.json", std::move(to.end()).text());
  if (!status) std::fprintf(stderr, "%s\n", orch::text(status.error()).c_str());
  return static_cast<bool>(status);
}

}  // namespace orch::launch
