#include "core/run/launch/local/local_start.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/run/launch/child.h"

namespace orch::launch {
namespace {

// Twice forked, so that it is nobody's child who would have to wait for it.
int fork_twice(const Program& program, int hold, int pipe) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      become(program, {hold, pipe});
      tell_and_leave(pipe, errno);
    }
    ::_exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? 0 : EAGAIN;
}

}  // namespace

Detached start_detached(const std::vector<std::string>& argv, const fs::path& log, int hold,
                        double seconds) {
  const auto failed = [](int code) { return Detached{false, true, std::strerror(code)}; };
  const Descriptor in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  Descriptor ours, theirs;
  if (!in.is_open() || !out.is_open() || !make_pipe(ours, theirs)) return failed(errno);
  const Words words(argv);
  const Program program{
      program_path(argv.front()), words, environ, {in.get(), out.get(), out.get()}};
  if (const int code = fork_twice(program, hold, theirs.get())) return failed(code);
  theirs.close();
  const auto code = hear(ours.get(), seconds);
  return code.value_or(0) ? failed(*code) : Detached{true, code.has_value(), ""};
}

}  // namespace orch::launch
