#include "core/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/base/descriptor.h"
#include "core/base/draft.h"
#include "core/base/text.h"

namespace orch {
namespace {

// The new file keeps the old one's permissions; a file that may not be written is not replaced.
Status replace(const fs::path& file, const fs::file_status& about, std::string_view text) {
  if (::access(file.c_str(), W_OK) != 0) return file_error(file, "cannot write", errno);
  if (auto status = write_file_atomically(file, text); !status) return status;
  std::error_code ignored;
  fs::permissions(file, about.permissions(), ignored);
  return {};
}

// The first error of two.
int first(int error, int next) { return error != 0 ? error : next; }

int unlink_at(int folder, const char* name, int flags) {
  return ::unlinkat(folder, name, flags) == 0 || errno == ENOENT ? 0 : errno;
}

int remove_at(int folder, const char* name);

// Removes all entries of an open folder.
int remove_entries(Descriptor folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
  if (!entries) return errno;
  const int handle = folder.release();  // closedir closes it
  int error = 0;
  errno = 0;
  while (const auto* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") error = first(error, remove_at(handle, entry->d_name));
    errno = 0;
  }
  return first(error, errno);
}

int remove_at(int folder, const char* name) {
  Descriptor inside(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inside.is_open()) {
    if (errno == ENOENT) return 0;
    // Not a folder, or a folder that may not be read: it can be removed only if it is empty.
    const bool is_folder = errno != ENOTDIR && errno != ELOOP;
    return unlink_at(folder, name, is_folder ? AT_REMOVEDIR : 0);
  }
  const int error = remove_entries(std::move(inside));
  return first(error, unlink_at(folder, name, AT_REMOVEDIR));
}

}  // namespace

int remove_tree(const fs::path& path) { return remove_at(AT_FDCWD, path.c_str()); }

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& code) {
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code))
    entries.push_back(entry->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code ignored;
  return entries_of(folder, ignored);
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::ptrdiff_t read_at(int fd, std::uint64_t from, void* to, std::size_t bytes) {
  std::size_t have = 0;
  while (have < bytes) {
    const auto got = ::pread(fd, static_cast<std::byte*>(to) + have, bytes - have,
                             static_cast<off_t>(from + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<std::ptrdiff_t>(have);
}

Error file_error(const fs::path& path, std::string_view doing, int code) {
  std::string fix;
  if (code == EACCES || code == EPERM || code == EROFS)
    fix = "check the folder's permissions, or name another place";
  if (code == ENOSPC || code == EDQUOT) fix = "free some space or quota, then run it again";
  if (code == ENOENT) fix = "check the path";
  if (code == EISDIR) fix = "name a file in it";
  if (code == ENOTDIR || code == EEXIST) fix = "a file is in the way: name another place";
  if (code == EFBIG) fix = "raise the limit on file sizes (ulimit -f)";
  return {printable(path.string()), std::string(doing) + ": " + std::strerror(code), fix};
}

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return file_error(path, "cannot open", errno);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const auto got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot read", errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > limit)
      return Error{printable(path.string()),
                   "is larger than " + std::to_string(limit >> 20) + " MiB", "check the path"};
  }
}

Status write_file_atomically(const fs::path& path, std::string_view text) {
  auto draft = DraftFile::create(path);
  if (!draft) return draft.error();
  if (auto status = draft->append(text); !status) return status;
  if (auto status = draft->sync(); !status) return status;
  return draft->publish();
}

Status write_output(const fs::path& path, std::string_view text) {
  std::error_code code;
  const auto about = fs::status(path, code);
  if (fs::is_directory(about)) return file_error(path, "cannot write", EISDIR);
  if (!fs::exists(about)) {
    const auto place =
        fs::is_symlink(path, code) ? path.parent_path() / fs::read_symlink(path, code) : path;
    return write_file_atomically(code ? path : place, text);
  }
  if (fs::is_regular_file(about)) return replace(fs::canonical(path, code), about, text);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return file_error(path, "cannot open", errno);
  int error = write_all(file.get(), text);
  if (error == 0) error = file.close();
  return error == 0 ? Status() : file_error(path, "cannot write", error);
}

void sync_folder(const fs::path& folder) {
  const Descriptor handle(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.is_open()) ::fsync(handle.get());
}

}  // namespace orch
