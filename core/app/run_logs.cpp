#include "core/app/run_logs.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/app/places.h"
#include "core/base/text.h"
#include "core/plan/run_json.h"
#include "core/plan/vocabulary.h"
#include "core/record/events/collect.h"
#include "core/record/planned.h"
#include "core/run/store/run_folder.h"

namespace orch::app {
namespace {

using record::Failure;

constexpr const char* kLog = "stdout.log";

// The time of the last write to a regular file, by its file system's clock; 0: it does not exist.
double written(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<double>(status.st_mtim.tv_sec) +
         static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

// Values by the names of fields in tables and patterns. What the log itself states is left out, and
// so are most settings, because the log's software may have none of them.
ingest::KnownFacts known_of(const plan::Run& run) {
  static const std::set<std::string_view> kSettings{
      "zero_stage",      "interleave",       "dtype", "optimizer", "recompute",
      "flash_attention", "sequence_parallel"};
  ingest::KnownFacts out;
  for (const auto& [name, value, assumed] : record::fields_of(run, false)) {
    const auto* term = plan::find_term(name);
    const bool has_own = name == "framework" || name == "params" || name == "model";
    if (!term || has_own || (!term->read && !kSettings.contains(name))) continue;
    auto text = record::text(value);
    // In a pattern, "none" means no value.
    if (name == "recompute" && text == "none") text = "false";
    if (text != "none") out.emplace_back(term->alias.empty() ? term->name : term->alias, text);
  }
  if (run.steps > 0) out.emplace_back("steps_planned", std::to_string(run.steps));
  return out;
}

}  // namespace

Result<ingest::Patterns> load_patterns(const fs::path& shipped,
                                       const std::vector<std::string>& more) {
  auto files = entries_of(shipped);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".lua"; });
  if (files.empty())
    return Error{printable(shipped.string()), "has no log patterns",
                 "ORCH_HOME names the folder that has experiments/ and templates/"};
  files.insert(files.end(), more.begin(), more.end());
  return ingest::Patterns::load(files);
}

ingest::KnownFacts known_beside(const fs::path& file) {
  constexpr int kUp = 3;  // run/attempts/1/stdout.log
  std::error_code code;
  auto folder = fs::absolute(file, code).parent_path();
  for (int i = 0; i < kUp && !folder.empty(); ++i, folder = folder.parent_path()) {
    if (!fs::is_regular_file(folder / "run.json", code)) continue;
    const auto run = plan::read_run(folder / "run.json");
    return run ? known_of(*run) : ingest::KnownFacts();
  }
  return {};
}

const ingest::Patterns* RunLogs::patterns() {
  if (!std::exchange(tried_, true)) {
    const auto places = find_places();
    auto loaded =
        places ? load_patterns(places->logs(), {}) : Result<ingest::Patterns>(places.error());
    if (loaded) patterns_.emplace(std::move(*loaded));
  }
  return patterns_ ? &*patterns_ : nullptr;
}

RunLogs::Watched* RunLogs::look(const fs::path& attempt_folder) {
  const auto file = attempt_folder / kLog;
  if (written(file) == 0 || patterns() == nullptr) return nullptr;
  auto found = watched_.find(file);
  if (found == watched_.end())
    found = watched_.emplace(file, Watched{ingest::RunLog(*patterns(), known_beside(file))}).first;
  found->second.log.read(file);
  return &found->second;
}

std::optional<record::TrainingProgress> RunLogs::progress(const fs::path& attempt_folder,
                                                          double now) {
  auto* watched = look(attempt_folder);
  const auto found = watched ? watched->log.found("") : std::nullopt;
  if (!found || found->measured.steps <= 0) return std::nullopt;
  const auto steps = found->measured.steps;
  if (steps != watched->step) watched->since = written(attempt_folder / kLog);
  watched->step = steps;
  return record::TrainingProgress{found->measured, std::max(0.0, now - watched->since)};
}

record::FailureReport RunLogs::log_confession(const fs::path& attempt_folder) {
  auto* watched = look(attempt_folder);
  if (watched) watched->log.end_file();  // an incomplete last line counts
  if (!watched) return {};
  auto sign = watched->log.confession();
  // Ends by a time limit or preemption are for the scheduler to report.
  if (sign.failure == Failure::timeout || sign.failure == Failure::preempted)
    return {Failure::none, sign.line};
  if (sign.failure != Failure::none && sign.failure != Failure::bad_exit) return sign;
  // A traceback alone may be a printed warning: it counts only if it ended a run.
  const auto found = watched->log.found("");
  // It died before its first step, or there was no run to end. What srun says of a dead task is in
  // the attempt's own message, with the file to read.
  if (!found && sign.failure == Failure::bad_exit && !sign.line.starts_with("srun: "))
    if (const auto attempt = store::read_attempt(attempt_folder);
        attempt && attempt->state == "failed")
      return sign;
  if (found && found->state == record::RunState::failed) return {found->failure, found->reason};
  // A run that ended because of its loss has other evidence in its steps.
  if (found && found->reason.find("loss is ") != std::string::npos)
    return {Failure::nan, found->reason};
  return {};
}

// Ranks that lose another one blame the network, and some report nothing: then the log may have the
// reason.
record::FailureReport RunLogs::confession(const fs::path& attempt_folder) {
  const auto is_vague = [](Failure failure) {
    return failure == Failure::nccl || failure == Failure::bad_exit;
  };
  auto event = events::read_failure(attempt_folder);
  if (event.failure != Failure::none && !is_vague(event.failure)) return event;
  auto log = log_confession(attempt_folder);
  const bool same = event.failure == Failure::nccl && is_vague(log.failure);
  return log.failure == Failure::none || same ? event : log;
}

std::optional<record::Record> RunLogs::history(const std::string& id,
                                               const std::vector<fs::path>& attempt_folders) {
  if (attempt_folders.empty() || patterns() == nullptr) return std::nullopt;
  ingest::RunLog log(*patterns(), known_beside(attempt_folders.front() / kLog));
  for (const auto& folder : attempt_folders) {
    log.read(folder / kLog);
    log.end_file();
  }
  auto found = log.found(id);
  return found && found->has_measurement() ? std::move(found) : std::nullopt;
}

}  // namespace orch::app
