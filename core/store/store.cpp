#include "core/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "core/base/text.h"

namespace orch::store {
namespace {

constexpr std::size_t kBatch = 512;  // folders per sync: one for each would wait for the disk
constexpr const char* kTemp = ".tmp-";

Error folder_error(const fs::path& path, const char* doing, const std::error_code& code) {
  return file_error(path, doing, code.value());
}

// A folder being written beside its place; removed unless it got there.
class Draft {
 public:
  Draft(fs::path temp, fs::path target) : temp_(std::move(temp)), target_(std::move(target)) {}
  Draft(Draft&& other) noexcept = default;
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!temp_.empty()) fs::remove_all(temp_, ignored);
  }

  Status fill(const Folder& folder) {
    std::error_code code;
    fs::create_directories(temp_, code);
    if (code) return folder_error(temp_, "cannot create", code);
    for (const auto& file : folder.files)
      if (auto status = write_new(temp_ / file.name, file.text); !status) return status;
    return {};
  }
  Status publish() {
    std::error_code code;
    fs::rename(temp_, target_, code);
    if (code) return folder_error(target_, "cannot put in place", code);
    temp_.clear();
    return {};
  }

 private:
  static Status write_new(const fs::path& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return file_error(path, "cannot create", errno);
    const auto written = ::write(fd, text.data(), text.size());
    const int code = written == static_cast<ssize_t>(text.size()) ? 0 : (errno ? errno : ENOSPC);
    if (::close(fd) != 0 || code != 0) return file_error(path, "cannot write", code ? code : errno);
    return {};
  }

  fs::path temp_;
  fs::path target_;
};

// What a killed process left behind.
void remove_dead_drafts(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(kTemp)) continue;
    const int pid = std::atoi(name.c_str() + std::string_view(kTemp).size());
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

bool was_started(const fs::path& folder) {
  return fs::exists(folder / "attempts") || fs::exists(folder / "state.json");
}

bool holds(const fs::path& path, const std::string& text) {
  const auto held = read_file(path);
  return held && *held == text;
}

// The run exists: bring scripts and estimate up to date unless it was started.
Result<bool> refresh(const fs::path& place, const Folder& folder) {
  bool changed = false;
  if (was_started(place)) return changed;
  for (const auto& file : folder.files) {
    if (holds(place / file.name, file.text)) continue;
    if (file.name == "run.json")
      return Error{place.string(), "holds another run with the same hash", "move that folder away"};
    if (auto status = write_file_atomically(place / file.name, file.text); !status)
      return status.error();
    changed = true;
  }
  return changed;
}

Status publish(std::vector<Draft>& drafts, const fs::path& parent) {
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    ::syncfs(fd);  // what the folders hold is on disk before they appear
    ::close(fd);
  }
  for (auto& draft : drafts)
    if (auto status = draft.publish(); !status) return status;
  drafts.clear();
  sync_folder(parent);
  return {};
}

}  // namespace

fs::path Store::folder(const std::string& experiment, const std::string& id) const {
  return root_ / experiment / id;
}

Result<Written> Store::write(const std::string& experiment, std::size_t count,
                             const std::function<Result<Folder>(std::size_t)>& make,
                             const std::function<bool()>& interrupted) {
  const auto parent = root_ / experiment;
  std::error_code code;
  fs::create_directories(parent, code);
  if (code) return folder_error(parent, "cannot create", code);
  remove_dead_drafts(parent);

  Written written;
  std::vector<Draft> drafts;
  std::set<std::string> planned;
  for (std::size_t i = 0; i < count && !(written.interrupted = interrupted()); ++i) {
    const auto folder = make(i);
    if (!folder) return folder.error();
    planned.insert(folder->id);
    const auto place = parent / folder->id;
    if (fs::exists(place)) {
      const auto changed = refresh(place, *folder);
      if (!changed) return changed.error();
      ++(*changed ? written.refreshed : written.unchanged);
      continue;
    }
    auto& draft =
        drafts.emplace_back(parent / fmt::format("{}{}-{}", kTemp, ::getpid(), folder->id), place);
    if (auto status = draft.fill(*folder); !status) return status.error();
    ++written.created;
    if (drafts.size() == kBatch)
      if (auto status = publish(drafts, parent); !status) return status.error();
  }
  if (auto status = publish(drafts, parent); !status) return status.error();
  for (const auto& entry : fs::directory_iterator(parent, code))
    if (entry.is_directory() && !planned.contains(entry.path().filename().string()) &&
        !entry.path().filename().string().starts_with(kTemp))
      ++written.others;
  return written;
}

Result<fs::path> Store::find(const std::string& id) const {
  std::vector<fs::path> matches;
  std::vector<std::string> known;
  std::error_code code;
  for (const auto& experiment : fs::directory_iterator(root_, code)) {
    if (!experiment.is_directory()) continue;
    for (const auto& entry : fs::directory_iterator(experiment.path(), code)) {
      const auto name = entry.path().filename().string();
      if (name.starts_with(kTemp) || !fs::exists(entry.path() / "run.json")) continue;
      known.push_back(name);
      if (name == id) return entry.path();
      if (name.starts_with(id) || name.ends_with("-" + id)) matches.push_back(entry.path());
    }
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty()) {
    const auto near = nearest(id, known);
    return Error{printable(id), fmt::format("no such run below {}", printable(root_.string())),
                 near
                     ? "did you mean '" + *near + "'?"
                     : "orch run FILE.lua makes runs; orch explain FILE.lua explains its best one"};
  }
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(matches.size(), 5); ++i)
    names += "\n  " + matches[i].filename().string();
  return Error{printable(id), fmt::format("{} runs begin like this", matches.size()),
               "name one of them:" + names};
}

}  // namespace orch::store
