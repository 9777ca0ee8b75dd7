#include "core/record/events/window.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "core/record/events/collect.h"

namespace orch::events {
namespace {

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// Non-blocking: opening a pipe would wait for a writer.
Window::Window(const fs::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat about = {};
  if (::fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    file_.close();
    return;
  }
  size_ = about.st_size;
  modified_ = seconds(about.st_mtim);
}

std::string Window::read(std::int64_t from, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const auto got = read_at(file_.get(), static_cast<std::uint64_t>(from), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

double file_system_now(const fs::path& folder) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto path = folder / (".orch-now-" + std::to_string(::getpid()));
  ::unlink(path.c_str());  // of a process that died here and had our number
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return seconds(now);
  struct stat about = {};
  const bool known = ::fstat(file.get(), &about) == 0;
  ::unlink(path.c_str());
  return seconds(known ? about.st_mtim : now);
}

}  // namespace orch::events
