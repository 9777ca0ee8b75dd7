#include "core/base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/text.h"

namespace orch {
namespace {

constexpr std::size_t kLargestFile = std::size_t{64} << 20;

}  // namespace

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

Result<std::string> read_file(const fs::path& path) {
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
    if (text.size() > kLargestFile)
      return Error{printable(path.string()), "is larger than 64 MiB", "check the path"};
  }
}

Status write_file_atomically(const fs::path& path, std::string_view text) {
  const fs::path temp = path.string() + ".tmp" + std::to_string(::getpid());
  ::unlink(temp.c_str());  // of a process that died here and had our number
  // Exclusive: in a folder that others may write to, the name could be a link of theirs.
  Descriptor file(::open(temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.is_open()) return file_error(path, "cannot create", errno);
  int code = write_all(file.get(), text);
  if (code == 0 && ::fsync(file.get()) != 0) code = errno;
  if (code == 0) code = file.close();
  if (code != 0) {
    ::unlink(temp.c_str());
    return file_error(path, "cannot write", code);
  }
  if (::rename(temp.c_str(), path.c_str()) != 0) {
    code = errno;
    ::unlink(temp.c_str());
    return file_error(path, "cannot put in place", code);
  }
  return {};
}

Status write_output(const fs::path& path, std::string_view text) {
  std::error_code code;
  const auto about = fs::status(path, code);
  if (fs::is_directory(about)) return file_error(path, "cannot write", EISDIR);
  if (!fs::exists(about) || fs::is_regular_file(about)) {
    auto place =
        fs::is_symlink(path, code) ? path.parent_path() / fs::read_symlink(path, code) : path;
    if (fs::exists(about)) place = fs::canonical(path, code);
    return write_file_atomically(code ? path : place, text);
  }
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return file_error(path, "cannot open", errno);
  int error = write_all(file.get(), text);
  if (error == 0) error = file.close();
  return error == 0 ? Status() : file_error(path, "cannot write", error);
}

void sync_folder(const fs::path& folder) {
  const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.is_open()) ::fsync(handle.get());
}

}  // namespace orch
