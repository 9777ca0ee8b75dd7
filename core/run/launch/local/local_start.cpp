#include "core/run/launch/local/local_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/descriptor.h"

namespace orch::launch {
namespace {

void tell(int pipe, int code) {
  [[maybe_unused]] const auto ignored = ::write(pipe, &code, sizeof code);
}

// Runs in the grandchild: only plain system calls. The pipe goes to the program and is closed by
// it; on failure it carries errno.
[[noreturn]] void become(const std::vector<char*>& argv, const char* log, int hold, int pipe) {
  const int null = ::open("/dev/null", O_RDONLY);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (null < 0 || out < 0) {
    tell(pipe, errno);
    ::_exit(1);
  }
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  for (const int fd : {null, out})
    if (fd > STDERR_FILENO) ::close(fd);
  for (const int fd : {hold, pipe})
    if (fd >= 0) ::fcntl(fd, F_SETFD, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(argv[0], argv.data());
  tell(pipe, errno);
  ::_exit(127);
}

// Twice forked, so that it is nobody's child who would have to wait for it.
int fork_twice(const std::vector<char*>& argv, const char* log, int hold, int pipe) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::setsid();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) become(argv, log, hold, pipe);
    ::_exit(grandchild < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? 0 : EAGAIN;
}

// What comes through the pipe before everyone has closed it: nothing, or errno.
void listen(int pipe, double seconds, Detached& outcome) {
  SystemClock clock;
  const double limit = clock.steady() + seconds;
  int code = 0;
  while (clock.steady() < limit) {
    pollfd ready = {pipe, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    const auto got = ::read(pipe, &code, sizeof code);
    if (got < 0 && errno == EINTR) continue;
    outcome.heard = true;
    if (got == static_cast<ssize_t>(sizeof code)) {
      outcome.started = false;
      outcome.error = std::strerror(code);
    }
    return;
  }
}

}  // namespace

Detached start_detached(const std::vector<std::string>& argv, const fs::path& log, int hold,
                        double seconds) {
  Detached outcome;
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    outcome.error = std::strerror(errno);
    return outcome;
  }
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const int code = fork_twice(words, log.c_str(), hold, theirs.get());
  theirs.close();
  outcome.started = code == 0;
  if (code != 0)
    outcome.error = std::strerror(code);
  else
    listen(ours.get(), seconds, outcome);
  return outcome;
}

}  // namespace orch::launch
