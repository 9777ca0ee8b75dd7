#include "core/base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace orch {

Result<FileLock> FileLock::take(const fs::path& path, Wait wait) {
  FileLock lock;
  lock.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock.fd_ < 0) return file_error(path, "cannot open", errno);
  int code = 0;
  while ((code = ::flock(lock.fd_, LOCK_EX | (wait == Wait::no ? LOCK_NB : 0))) != 0 &&
         errno == EINTR && wait == Wait::no) {
  }
  lock.held_ = code == 0;
  if (code != 0 && errno == EINTR) return Error{"lock", "interrupted while waiting for it", ""};
  lock.supported_ = code == 0 || errno == EWOULDBLOCK;
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      held_(std::exchange(other.held_, false)),
      supported_(other.supported_) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(held_, other.held_);
  std::swap(supported_, other.supported_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace orch
