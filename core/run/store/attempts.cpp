#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "core/base/date.h"
#include "core/base/draft.h"
#include "core/base/json_fields.h"
#include "core/base/number.h"
#include "core/run/store/run_folder.h"

namespace orch::store {
namespace {

using record::Attempt;

constexpr std::array<std::string_view, 7> kStates = {"running",   "finished",  "left",  "stopped",
                                                     "cancelled", "bad_nodes", "failed"};
constexpr auto kAttemptFix =
    "move that file away: the run then counts as one that did not record how it ended";

// "07" is not a number that a script creates.
int parse_number(const std::string& name) {
  return name.starts_with('0') ? 0 : number_from<int>(name).value_or(0);
}

double read_time(JsonFields& fields, const char* key) {
  if (!fields.has(key)) return 0;
  const auto time = parse_moment(fields.text(key));
  if (!time) fields.complain(std::string("'") + key + "' is not a time");
  return time.value_or(0);
}

void read_status(JsonFields& fields, Attempt& attempt) {
  attempt.state = fields.text("state");
  if (std::find(kStates.begin(), kStates.end(), attempt.state) == kStates.end())
    fields.complain("'state' is invalid");
  attempt.message = fields.text_or("message", "");
  attempt.job = fields.text_or("job_id", "");
  attempt.submission = fields.text_or("submission", "");
  constexpr int most = 1'000'000;
  attempt.phase = static_cast<int>(fields.whole("phase", 1, most));
  attempt.phases = static_cast<int>(fields.whole("phases", 1, most));
  attempt.start = read_time(fields, "start");
  attempt.end = read_time(fields, "end");
  attempt.signal = fields.text_or("signal", "");
  if (fields.has("exit_code"))
    attempt.exit_code = static_cast<int>(fields.whole("exit_code", -most, most));
  if (fields.has("gpus")) attempt.gpus = fields.whole("gpus", 0, most);
  attempt.nodes = fields.texts("nodes");
  attempt.bad_nodes = fields.texts("bad_nodes");
}

// When a file was last written, seconds since 1970; 0: it does not exist.
double written(const fs::path& file) {
  struct stat about = {};
  if (::stat(file.c_str(), &about) != 0) return 0;
  return static_cast<double>(about.st_mtim.tv_sec);
}

}  // namespace

Result<Attempt> read_attempt(const fs::path& folder) {
  const auto path = folder / "status.json";
  const auto json = read_json(path, {.lenient = true, .fix = kAttemptFix});
  if (!json) return json.error();
  Attempt attempt;
  attempt.state = "running";
  attempt.seen = std::max(written(folder / "stdout.log"), written(path));
  if (!*json) return attempt;
  JsonFields fields(**json);
  read_status(fields, attempt);
  if (!fields.problem().empty()) return damaged(path, fields.problem(), kAttemptFix);
  return attempt;
}

Result<std::vector<Attempt>> read_attempts(const fs::path& run_folder, int from) {
  const auto place = run_folder / "attempts";
  const auto entries = entries_if_there(place);
  if (!entries) return entries.error();
  std::vector<int> numbers;
  for (const auto& entry : *entries) {
    std::error_code ignored;
    const int number = parse_number(entry.filename().string());
    if (number >= std::max(from, 1) && fs::is_directory(entry, ignored)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<Attempt> attempts;
  attempts.reserve(numbers.size());
  for (const int number : numbers) {
    auto attempt = read_attempt(place / std::to_string(number));
    if (!attempt) return attempt.error();
    attempt->number = number;
    attempts.push_back(std::move(*attempt));
  }
  return attempts;
}

}  // namespace orch::store
