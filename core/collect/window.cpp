#include "core/collect/window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "core/collect/collect.h"

namespace orch::collect {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// Non-blocking: opening a pipe would wait for a writer.
Window::Window(const fs::path& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat about = {};
  if (fd_ < 0) return;
  if (::fstat(fd_, &about) == 0 && S_ISREG(about.st_mode)) {
    size_ = about.st_size;
    modified_ = seconds(about.st_mtim);
    return;
  }
  ::close(fd_);
  fd_ = -1;
}

Window::~Window() {
  if (fd_ >= 0) ::close(fd_);
}

std::string Window::read(std::int64_t from, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const auto got = ::pread(fd_, text.data() + have, text.size() - have,
                             static_cast<off_t>(from + static_cast<std::int64_t>(have)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

double file_system_now(const fs::path& folder) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto path = folder / (".orch-now-" + std::to_string(::getpid()));
  ::unlink(path.c_str());  // of a process that died here and had our number
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return seconds(now);
  struct stat about = {};
  const bool known = ::fstat(fd, &about) == 0;
  ::close(fd);
  ::unlink(path.c_str());
  return seconds(known ? about.st_mtim : now);
}

}  // namespace orch::collect
