#include "core/store/draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "core/base/text.h"
#include "core/store/entries.h"

namespace orch::store {
namespace {

constexpr std::string_view kTemp = ".tmp-";
constexpr auto kAbandoned = std::chrono::hours(24);

// Drafts are named after the process that writes them: .tmp-<pid>@<host>@<id>.
std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return is_plain_name(name) ? std::string(name).substr(0, 64) : "host";
}

std::string draft_name(const std::string& id) {
  return fmt::format("{}{}@{}@{}", kTemp, ::getpid(), host_name(), id);
}

// Gives errno, 0 if all is well.
int write_new(const fs::path& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int error = 0;
  while (!text.empty() && error == 0) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error = errno;
  }
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

// Whether nobody writes this draft any more. Of a process on another machine that shares the disk
// only the age can tell.
bool is_dead(const fs::path& draft) {
  const auto name = draft.filename().string().substr(kTemp.size());
  const int pid = std::atoi(name.c_str());
  const auto host = name.substr(std::min(name.find('@') + 1, name.size()));
  if (host.starts_with(host_name() + "@"))
    return pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
  std::error_code code;
  const auto written = fs::last_write_time(draft, code);
  return !code && fs::file_time_type::clock::now() - written > kAbandoned;
}

}  // namespace

Draft::Draft(const fs::path& parent, const std::string& id)
    : temp_(parent / draft_name(id)), target_(parent / id) {}

Draft::~Draft() {
  std::error_code ignored;
  if (!temp_.empty()) fs::remove_all(temp_, ignored);
}

Status Draft::fill(const Folder& folder) {
  std::error_code code;
  fs::create_directory(temp_, code);
  if (code) return file_error(target_, "cannot create", code.value());
  for (const auto& file : folder.files)
    if (const int error = write_new(temp_ / file.name, file.text); error != 0)
      return file_error(target_ / file.name, "cannot write", error);
  return {};
}

Status Draft::sync() {
  int error = 0;
  for_each_entry(temp_, [&](const fs::path& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::fsync(fd) != 0) error = errno;
    if (fd >= 0) ::close(fd);
  });
  if (error != 0) return file_error(target_, "cannot write to the disk", error);
  sync_folder(temp_);
  return {};
}

Status Draft::publish() {
  std::error_code code;
  fs::rename(temp_, target_, code);
  if (!code)
    temp_.clear();
  else if (!is_there(target_ / "run.json"))  // else another orch was faster
    return file_error(target_, "cannot put in place", code.value());
  return {};
}

namespace {

fs::path beside(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.tmp{}", path.filename().string(), ::getpid());
}

}  // namespace

FileBatch::~FileBatch() {
  for (const auto& path : waiting_) ::unlink(beside(path).c_str());
}

Status FileBatch::add(const fs::path& path, const std::string& text) {
  const auto temp = beside(path);
  ::unlink(temp.c_str());  // of a process that died here and had our number
  waiting_.push_back(path);
  if (const int error = write_new(temp, text); error != 0)
    return file_error(path, "cannot write", error);
  return {};
}

Status FileBatch::publish() {
  if (waiting_.empty()) return {};
  if (auto status = sync_disk_of(waiting_.front().parent_path()); !status) return status;
  while (!waiting_.empty()) {
    const auto& path = waiting_.back();
    if (::rename(beside(path).c_str(), path.c_str()) != 0)
      return file_error(path, "cannot put in place", errno);
    waiting_.pop_back();
  }
  return {};
}

Status sync_disk_of(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return file_error(folder, "cannot open", errno);
  const int error = ::syncfs(fd) != 0 ? errno : 0;
  ::close(fd);
  if (error != 0) return file_error(folder, "cannot write to the disk", error);
  return {};
}

bool is_draft(const fs::path& entry) { return entry.filename().string().starts_with(kTemp); }

void remove_dead_drafts(const fs::path& folder) {
  for_each_entry(folder, [](const fs::path& entry) {
    std::error_code ignored;
    if (is_draft(entry) && is_dead(entry)) fs::remove_all(entry, ignored);
  });
}

}  // namespace orch::store
