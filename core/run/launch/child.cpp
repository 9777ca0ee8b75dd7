#include "core/run/launch/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/base/clock.h"
#include "core/base/text.h"

namespace orch::launch {
namespace {

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return is_program(name) ? fs::absolute(name) : fs::path();
  const char* path = std::getenv("PATH");
  for (const auto& folder : split(path ? path : "/usr/bin:/bin", ':'))
    if (const auto candidate = fs::path(folder.empty() ? "." : folder) / name;
        is_program(candidate))
      return fs::absolute(candidate);
  return {};
}

fs::path program_path(const std::string& name) {
  return name.find('/') == std::string::npos ? find_program(name) : fs::absolute(name);
}

const char* become(const Program& program, std::initializer_list<int> kept) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    ::dup2(program.streams[static_cast<std::size_t>(fd)], fd);
  // A library of ours may have opened files that it forgot to close on exec.
  close_all(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const int fd : kept)
    if (fd >= 0) ::fcntl(fd, F_SETFD, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::chdir(program.directory.c_str()) != 0) return program.directory.c_str();
  ::execve(program.path.c_str(), program.words.get(), program.environment);
  return program.path.c_str();
}

bool make_pipe(Descriptor& ours, Descriptor& theirs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

void tell_and_leave(int pipe, int code) {
  [[maybe_unused]] const auto ignored = ::write(pipe, &code, sizeof code);
  ::_exit(127);
}

std::optional<int> hear(int pipe, double seconds) {
  SystemClock clock;
  const double limit = clock.steady() + seconds;
  while (clock.steady() < limit) {
    pollfd ready = {pipe, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) continue;
    int code = 0;
    const auto got = ::read(pipe, &code, sizeof code);
    if (got < 0 && errno == EINTR) continue;
    return got == static_cast<ssize_t>(sizeof code) ? code : 0;
  }
  return std::nullopt;
}

void close_all(unsigned first, unsigned last, int flags) {
  constexpr unsigned kMost = 4096;  // by hand: as many as most processes may have
  if (first > last || ::close_range(first, last, flags) == 0) return;
  for (auto fd = static_cast<int>(first); fd <= static_cast<int>(std::min(last, kMost)); ++fd)
    if (flags == 0)
      ::close(fd);
    else
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace orch::launch
