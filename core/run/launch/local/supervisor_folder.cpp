#include "core/run/launch/local/supervisor_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/run/launch/local/local_tasks.h"

namespace orch::launch {

SupervisorFolder::SupervisorFolder(const fs::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

// A folder without a name has no links. ESTALE: another host deleted it (NFS).
bool SupervisorFolder::is_deleted() const {
  struct stat facts = {};
  if (!file_.is_open()) return ::stat(path_.c_str(), &facts) != 0 && errno == ENOENT;
  return ::fstat(file_.get(), &facts) == 0 ? facts.st_nlink == 0 : errno == ESTALE;
}

bool SupervisorFolder::asks_to_cancel(std::size_t index) const {
  return is_there(cancel_mark(path_, index)) || is_deleted();
}

}  // namespace orch::launch
