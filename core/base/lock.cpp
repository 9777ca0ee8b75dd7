#include "core/base/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "core/base/text.h"

namespace orch {

Result<FileLock> FileLock::take(const fs::path& path, Wait wait) {
  FileLock lock;
  // O_NOFOLLOW: otherwise someone who may write in the folder could link it to any file of ours.
  lock.file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!lock.file_.is_open() && errno == ELOOP)
    return Error{printable(path.string()), "is a link", "remove it: a lock is a file of its own"};
  if (!lock.file_.is_open()) return file_error(path, "cannot open", errno);
  int code = 0;
  while ((code = ::flock(lock.file_.get(), LOCK_EX | (wait == Wait::no ? LOCK_NB : 0))) != 0 &&
         errno == EINTR && wait == Wait::no) {
  }
  lock.held_ = code == 0;
  if (code != 0 && errno == EINTR) return Error{"lock", "interrupted while waiting for it", ""};
  lock.supported_ = code == 0 || errno == EWOULDBLOCK;
  return lock;
}

}  // namespace orch
