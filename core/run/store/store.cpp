#include "core/run/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/draft.h"
#include "core/base/text.h"
#include "core/plan/run_json.h"
#include "core/run/store/run_folder.h"
#include "core/run/store/submissions.h"

namespace orch::store {
namespace {

constexpr const char* kProvenance = "provenance.json";

constexpr std::size_t kBatch = 512;  // folders per sync, because each sync waits for the disk

using RunIds = std::set<std::string>;

// Runs that were submitted: an executor reads their scripts when a job starts, not when it is
// submitted.
Result<RunIds> submitted_runs(const fs::path& experiment_folder) {
  const auto submissions = read_submissions(experiment_folder);
  if (!submissions) return submissions.error();
  RunIds ids;
  for (const auto& opened : *submissions)
    if (opened.submission.refused.empty())
      ids.insert(opened.submission.runs.begin(), opened.submission.runs.end());
  return ids;
}

bool was_started(const fs::path& folder, const RunIds& submitted) {
  return submitted.contains(folder.filename().string()) || is_there(folder / "attempts") ||
         is_there(folder / "state.json");
}

bool holds(const fs::path& path, const std::string& text) {
  const auto held = read_file(path);
  return held && *held == text;
}

Status check_run_json(const fs::path& file) {
  const auto text = read_file(file);
  const auto status = text ? plan::check_frozen(*text, file) : text.error();
  if (status) return {};
  return Error{printable(file.string()),
               "is not the run that its folder is named after: " + status.error().front().fact,
               "put that run's own run.json back, or move the folder away"};
}

// For an existing run: updates scripts and estimate unless it was started.
Result<bool> refresh(const fs::path& place, const NewRunFolder& folder, const RunIds& submitted) {
  bool changed = false;
  if (auto status = check_run_json(place / "run.json"); !status) return status.error();
  if (was_started(place, submitted)) return changed;
  for (const auto& file : folder.files) {
    if (holds(place / file.name, file.text)) continue;
    if (auto status = write_file_atomically(place / file.name, file.text); !status)
      return status.error();
    changed = changed || file.name != kProvenance;  // a new provenance alone is no change
  }
  return changed;
}

Status publish(std::vector<DraftFolder>& drafts, const fs::path& parent) {
  if (drafts.empty()) return {};
  // The content of folders is on disk before they appear.
  if (auto status = sync_disk_of(parent); !status) return status;
  for (auto& draft : drafts)
    if (auto status = draft.publish(); !status && !is_there(draft.place() / "run.json"))
      return status;  // otherwise another orch was faster
  drafts.clear();
  sync_folder(parent);
  return {};
}

// Removes folders again that were created in vain.
class NewFolders {
 public:
  explicit NewFolders(const fs::path& path) {
    for (auto folder = path; !folder.empty() && !is_there(folder); folder = folder.parent_path())
      made_.push_back(folder);
  }
  ~NewFolders() {
    std::error_code ignored;
    for (const auto& folder : made_) fs::remove(folder, ignored);  // succeeds only if it is empty
  }
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

 private:
  std::vector<fs::path> made_;  // the innermost one first
};

std::size_t count_others(const fs::path& parent, const std::set<std::string>& planned) {
  std::size_t others = 0;
  for (const auto& id : run_ids(parent)) others += !planned.contains(id);
  return others;
}

}  // namespace

fs::path RunStore::folder(const std::string& experiment, const std::string& id) const {
  return root_ / experiment / id;
}

Result<WriteCounts> RunStore::write(const std::string& experiment, std::size_t count,
                                    const std::function<Result<NewRunFolder>(std::size_t)>& make,
                                    const std::function<bool()>& interrupted) {
  const auto parent = root_ / experiment;
  const NewFolders made(parent);
  std::error_code code;
  fs::create_directories(parent, code);
  if (code) return file_error(parent, "cannot create", code.value());
  remove_dead_drafts(parent);
  const auto submitted = submitted_runs(parent);
  if (!submitted) return submitted.error();

  WriteCounts written;
  std::vector<DraftFolder> drafts;
  std::set<std::string> planned;
  for (std::size_t i = 0; i < count && !(written.interrupted = interrupted()); ++i) {
    const auto folder = make(i);
    if (!folder) return folder.error();
    if (!planned.insert(folder->id).second) continue;  // the id occurs twice in the plan
    const auto place = parent / folder->id;
    if (is_there(place)) {
      const auto changed = refresh(place, *folder, *submitted);
      if (!changed) return changed.error();
      ++(*changed ? written.refreshed : written.unchanged);
      continue;
    }
    auto draft = DraftFolder::create(place, folder->files);
    if (!draft) return draft.error();
    drafts.push_back(std::move(*draft));
    ++written.created;
    if (drafts.size() == kBatch)
      if (auto status = publish(drafts, parent); !status) return status.error();
  }
  if (auto status = publish(drafts, parent); !status) return status.error();
  written.others = count_others(parent, planned);
  return written;
}

Result<fs::path> RunStore::find(const std::string& id) const {
  std::vector<fs::path> matches;
  std::vector<std::string> known;
  std::optional<fs::path> exact;
  for (const auto& experiment : entries_of(root_))
    for (const auto& name : run_ids(experiment)) {
      known.push_back(name);
      if (name == id) exact = experiment / name;
      const auto hash = name.substr(name.rfind('-') + 1);
      if (name.starts_with(id) || hash.starts_with(id)) matches.push_back(experiment / name);
    }
  if (exact) return *exact;
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    const auto near = nearest(id, known);
    return Error{printable(id), fmt::format("no such run below {}", printable(root_.string())),
                 near
                     ? "did you mean '" + *near + "'?"
                     : "orch run FILE.lua makes runs; orch explain FILE.lua explains its best one"};
  }
  std::sort(matches.begin(), matches.end());
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(matches.size(), 5); ++i)
    names += "\n  " + printable(matches[i].filename().string());
  return Error{printable(id), fmt::format("{} runs begin like this", matches.size()),
               "name one of them:" + names};
}

}  // namespace orch::store
