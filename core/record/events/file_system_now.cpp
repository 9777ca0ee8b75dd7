#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "core/base/descriptor.h"
#include "core/record/events/collect.h"

namespace orch::events {

double file_system_now(const fs::path& folder) {
  const auto seconds = [](const timespec& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto path = folder / (".orch-now-" + std::to_string(::getpid()));
  ::unlink(path.c_str());  // left by a process that died here and had our process id
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return seconds(now);
  struct stat about = {};
  const bool known = ::fstat(file.get(), &about) == 0;
  ::unlink(path.c_str());
  return seconds(known ? about.st_mtim : now);
}

}  // namespace orch::events
