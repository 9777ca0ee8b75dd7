#include "backends/runtime/loop/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "backends/runtime/host/failure.h"

namespace orch::train {

AppendFile::AppendFile(const fs::path& path)
    : path_(path.string()),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_.is_open()) throw ClassifiedFailure("disk", file_error(path, "open", errno).text());
}

bool AppendFile::write(std::string_view record) {
  if (!file_.is_open()) return true;
  ssize_t written = 0;
  do {
    written = ::write(file_.get(), record.data(), record.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(record.size())) return true;
  const int code = written < 0 ? errno : ENOSPC;
  if (!complained_.exchange(true))
    std::fprintf(stderr, "%s: cannot write: %s\n", path_.c_str(), std::strerror(code));
  return false;
}

}  // namespace orch::train
