#include "core/run/launch/close_all.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>

#include "tests/test.h"

namespace {

// In this process the kernel answers close_range like one before 5.9.
bool forget_close_range() {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
         ::close_range(1000, 1000, 0) != 0 && errno == ENOSYS;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
bool closes_on_exec(int fd) { return ::fcntl(fd, F_GETFD) == FD_CLOEXEC; }

// Runs in a child: 0, or the number of the failed check. 9: this kernel does not accept the filter.
int look(bool old_kernel) {
  for (const int fd : {20, 21, 22, 300}) ::dup2(STDERR_FILENO, fd);
  if (old_kernel && !forget_close_range()) return 9;
  orch::launch::close_all(300, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!closes_on_exec(300) || closes_on_exec(22)) return 1;
  orch::launch::close_all(20, 21);
  if (is_open(20) || is_open(21) || !is_open(22)) return 2;
  orch::launch::close_all(22, 21);  // none
  if (!is_open(22)) return 3;
  orch::launch::close_all(22);
  return is_open(22) || is_open(300) || !is_open(STDERR_FILENO) ? 4 : 0;
}

}  // namespace

TEST_CASE("descriptors are closed on kernels old and new", "[launch]") {
  const bool old_kernel = GENERATE(false, true);
  CAPTURE(old_kernel);
  const auto child = ::fork();
  if (child == 0) ::_exit(look(old_kernel));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 9) SKIP("no seccomp filter can be set here");
  CHECK(WEXITSTATUS(status) == 0);
}
