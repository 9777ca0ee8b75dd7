#include "core/base/draft.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/base/room.h"
#include "core/base/text.h"

namespace orch {
namespace {

constexpr std::size_t kBuffer = 1 << 20;
constexpr int kTries = 100;
constexpr std::string_view kFolder = ".tmp-";
constexpr auto kAbandoned = std::chrono::hours(24);

fs::path beside(const fs::path& path, DraftFile::Name name) {
  const auto draft = path.string() + ".tmp";
  return name == DraftFile::Name::own ? draft + std::to_string(::getpid()) : draft;
}

bool is_at(int file, const fs::path& path) {
  struct stat own {
  }, there{};
  return ::fstat(file, &own) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

std::string own_host() {
  const auto name = host_name();
  return is_plain_name(name) ? name.substr(0, 64) : "host";
}

// Draft folders are named after the process that writes them: .tmp-<pid>@<host>@<name>.
std::string folder_name(const std::string& name) {
  return fmt::format("{}{}@{}@{}", kFolder, ::getpid(), own_host(), name);
}

// True if no process writes this draft any more. For a process on another machine that shares the
// disk, only the age of the draft can show it.
bool is_dead(const fs::path& draft) {
  const auto name = draft.filename().string().substr(kFolder.size());
  const int pid = std::atoi(name.c_str());
  const auto host = name.substr(std::min(name.find('@') + 1, name.size()));
  if (host.starts_with(own_host() + "@"))
    return pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
  std::error_code code;
  const auto written = fs::last_write_time(draft, code);
  return !code && fs::file_time_type::clock::now() - written > kAbandoned;
}

Status check_new(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) return {};
  if (!fs::is_directory(folder, code)) return file_error(folder, "cannot create", EEXIST);
  if (fs::is_empty(folder, code) && !code) return {};
  return Error{printable(folder.string()), "exists and is not empty", "name a new folder"};
}

// The path without a trailing slash: "out/" names the folder "out", and ".." has a name too.
fs::path named(const fs::path& place) {
  const auto last = place.filename();
  const auto path = (last == "." || last == ".." ? fs::absolute(place) : place).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

DraftFile::DraftFile(DraftFile&& other) noexcept
    : path_(std::move(other.path_)),
      temp_(std::exchange(other.temp_, {})),
      name_(other.name_),
      file_(std::move(other.file_)),
      buffer_(std::move(other.buffer_)) {}

DraftFile::~DraftFile() {
  if (!temp_.empty()) ::unlink(temp_.c_str());
}

Result<DraftFile> DraftFile::create(const fs::path& path, Name name) {
  DraftFile draft(path, name);
  auto& file = draft.file_;
  const auto temp = beside(path, name);
  int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  if (name == Name::own) {
    ::unlink(temp.c_str());  // left by a process that died here and had our process id
    // Exclusive: in a folder that others may write to, the name could be a file of theirs.
    flags |= O_EXCL;
  }
  for (int tries = 0; tries < kTries; ++tries) {
    file = Descriptor(::open(temp.c_str(), flags, 0644));
    if (!file.is_open()) return file_error(path, "cannot create", errno);
    if (name != Name::locked) break;
    // A file system that cannot lock gives another errno; then the draft counts as free.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      return Error{printable(temp.string()), "another program is writing to it",
                   "wait for it, or name another place"};
    // Between open and flock its writer may have published it: then it is no longer a draft.
    if (is_at(file.get(), temp)) break;
  }
  draft.temp_ = temp;
  if (::ftruncate(file.get(), 0) != 0) return file_error(path, "cannot write", errno);
  return draft;
}

Status DraftFile::append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() < kBuffer) {
    buffer_.append(bytes);
    return {};
  }
  if (auto status = flush(); !status) return status;
  const int error = write_all(file_.get(), bytes);
  return error == 0 ? Status() : file_error(path_, "cannot write", error);
}

Status DraftFile::flush() {
  const int error = write_all(file_.get(), buffer_);
  buffer_.clear();
  return error == 0 ? Status() : file_error(path_, "cannot write", error);
}

Status DraftFile::write_at(std::uint64_t position, const void* data, std::size_t bytes) {
  const auto wrote = ::pwrite(file_.get(), data, bytes, static_cast<off_t>(position));
  return wrote == static_cast<ssize_t>(bytes)
             ? Status()
             : file_error(path_, "cannot write", wrote < 0 ? errno : EIO);
}

Status DraftFile::read_at(std::uint64_t position, void* data, std::size_t bytes) const {
  const auto got = orch::read_at(file_.get(), position, data, bytes);
  return got == static_cast<std::ptrdiff_t>(bytes)
             ? Status()
             : file_error(path_, "cannot read back", got < 0 ? errno : EIO);
}

Status DraftFile::sync() {
  if (auto status = flush(); !status) return status;
  return ::fsync(file_.get()) == 0 ? Status() : file_error(path_, "cannot write", errno);
}

Status DraftFile::close() {
  if (auto status = flush(); !status) return status;
  const int error = file_.close();
  return error == 0 ? Status() : file_error(path_, "cannot write", error);
}

Status DraftFile::publish() {
  // A lock is held until the name that it protects is gone.
  if (auto status = name_ == Name::locked ? flush() : close(); !status) return status;
  if (::rename(temp_.c_str(), path_.c_str()) != 0)
    return file_error(path_, "cannot put in place", errno);
  temp_.clear();
  file_.close();
  return {};
}

DraftFolder::DraftFolder(DraftFolder&& other) noexcept
    : place_(std::move(other.place_)), draft_(std::exchange(other.draft_, {})) {}

DraftFolder::~DraftFolder() {
  if (!draft_.empty()) remove_tree(draft_);
}

Result<DraftFolder> DraftFolder::create(const fs::path& place,
                                        const std::vector<DraftContent>& files) {
  if (auto status = check_new(place); !status) return status.error();
  const auto target = named(place);
  const auto draft = target.parent_path() / folder_name(target.filename().string());
  std::error_code code;
  remove_tree(draft);  // left by a process that died here and had our process id
  fs::create_directories(draft, code);
  if (code) return file_error(place, "cannot create", code.value());
  DraftFolder made(target, draft);
  for (const auto& file : files)
    if (auto status = made.write(file); !status) return status.error();
  return made;
}

Status DraftFolder::write(const DraftContent& file) const {
  Descriptor to(
      ::open((draft_ / file.name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  int error = to.is_open() ? write_all(to.get(), file.text) : errno;
  if (error == 0) error = to.close();
  return error == 0 ? Status() : file_error(place_ / file.name, "cannot write", error);
}

Status DraftFolder::sync() {
  int error = 0;
  for (const auto& entry : entries_of(draft_)) {
    const Descriptor file(::open(entry.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open() || ::fsync(file.get()) != 0) error = errno;
  }
  if (error != 0) return file_error(place_, "cannot write to the disk", error);
  sync_folder(draft_);
  return {};
}

Status DraftFolder::publish() {
  if (::rename(draft_.c_str(), place_.c_str()) != 0)
    return file_error(place_, "cannot put in place", errno);
  draft_.clear();
  return {};
}

bool is_draft(const fs::path& entry) { return entry.filename().string().starts_with(kFolder); }

void remove_dead_drafts(const fs::path& folder) {
  for (const auto& entry : entries_of(folder))
    if (is_draft(entry) && is_dead(entry)) remove_tree(entry);
}

Result<std::vector<fs::path>> entries_if_there(const fs::path& folder) {
  std::error_code code;
  auto entries = entries_of(folder, code);
  if (code && code != std::errc::no_such_file_or_directory)
    return file_error(folder, "cannot list", code.value());
  return entries;
}

Status sync_disk_of(const fs::path& folder) {
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open()) return file_error(folder, "cannot open", errno);
  return ::syncfs(handle.get()) == 0 ? Status()
                                     : file_error(folder, "cannot write to the disk", errno);
}

}  // namespace orch
