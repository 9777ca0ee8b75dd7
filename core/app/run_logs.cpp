#include "core/app/run_logs.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/app/places.h"
#include "core/plan/vocabulary.h"
#include "core/record/events/collect.h"

namespace orch::app {
namespace {

using RunJson = nlohmann::json;
using record::Failure;

constexpr const char* kLog = "stdout.log";

// When a plain file was written last, by the clock of its file system; 0: it is not there.
double written(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<double>(status.st_mtim.tv_sec) +
         static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
}

std::string text_of(const RunJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.is_number() ? value.dump() : "";
}

// By the names that tables and patterns have for the fields; of two for one the last counts.
ingest::Known known_of(const RunJson& run) {
  ingest::Known out;
  const auto add = [&](const RunJson& section, const std::string& name, const std::string& column) {
    if (!section.is_object() || !section.contains(name)) return;
    auto text = text_of(section[name]);
    if (text.empty() || (column == "steps_planned" && text == "0")) return;
    // A pattern knows "none" as a word for nothing.
    if (column == "act_ckpt" && text == "none") text = "false";
    out.emplace_back(column, std::move(text));
  };
  const auto model = run.value("model", RunJson::object());
  const auto settings = run.value("settings", RunJson::object());
  // Other settings are of a strategy of ours, which the log need not be of.
  const std::set<std::string_view> said{"zero_stage", "interleave", "dtype", "optimizer",
                                        "recompute", "flash_attention", "sequence_parallel"};
  for (const auto& term : plan::vocabulary()) {
    if (term.name == "framework" || term.name == "params") continue;  // the log knows better
    const std::string name(term.name), column(term.alias.empty() ? term.name : term.alias);
    for (const auto* section : {&run, &model}) add(*section, name, column);
    if (said.contains(term.name)) add(settings, name, column);
  }
  add(settings, "stage", "zero_stage");
  add(run, "steps", "steps_planned");
  return out;
}

}  // namespace

Result<ingest::Patterns> load_patterns(const fs::path& shipped,
                                       const std::vector<std::string>& more) {
  auto files = entries_of(shipped);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".lua"; });
  if (files.empty())
    return Error{printable(shipped.string()), "holds no patterns of logs",
                 "ORCH_HOME names the folder that has experiments/ and templates/"};
  files.insert(files.end(), more.begin(), more.end());
  return ingest::Patterns::load(files);
}

ingest::Known known_beside(const fs::path& file) {
  constexpr int kUp = 3;  // run/attempts/1/stdout.log
  std::error_code code;
  auto folder = fs::absolute(file, code).parent_path();
  for (int i = 0; i < kUp && !folder.empty(); ++i, folder = folder.parent_path()) {
    if (!fs::is_regular_file(folder / "run.json", code)) continue;
    const auto text = read_file(folder / "run.json");
    if (!text) return {};
    const auto run = parse_json(*text);
    return run.is_object() ? known_of(run) : ingest::Known();
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

std::optional<record::Progress> RunLogs::progress(const fs::path& attempt_folder, double now) {
  auto* watched = look(attempt_folder);
  const auto found = watched ? watched->log.found("") : std::nullopt;
  if (!found || found->measured.steps <= 0) return std::nullopt;
  const auto steps = found->measured.steps;
  if (steps != watched->step) watched->since = written(attempt_folder / kLog);
  watched->step = steps;
  return record::Progress{found->measured, std::max(0.0, now - watched->since)};
}

record::Confession RunLogs::log_confession(const fs::path& attempt_folder) {
  auto* watched = look(attempt_folder);
  if (watched) watched->log.end_file();  // a last line that has no end counts
  if (!watched) return {};
  auto sign = watched->log.confession();
  // What the clock or others end is the scheduler's to tell.
  if (sign.failure == Failure::timeout || sign.failure == Failure::preempted)
    return {Failure::none, sign.line};
  if (sign.failure != Failure::none && sign.failure != Failure::bad_exit) return sign;
  // A traceback alone may be a warning that someone printed: it counts where it ended a run.
  const auto found = watched->log.found("");
  if (found && found->state == record::State::failed) return {found->failure, found->reason};
  // One that lost its loss and left says so by its steps.
  if (found && found->reason.find("loss is ") != std::string::npos)
    return {Failure::nan, found->reason};
  return {};
}

// Ranks that lose another one blame the network, and some say nothing: then the log may know better.
record::Confession RunLogs::confession(const fs::path& attempt_folder) {
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
