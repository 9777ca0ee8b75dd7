#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace orch::launch {

// Closes the descriptors from first to last; with CLOSE_RANGE_CLOEXEC, only when a program is
// executed. Safe between fork and exec. Kernels before 5.9 have no close_range, those before 5.11
// not this flag.
inline void close_all(unsigned first, unsigned last = ~0U, int flags = 0) {
  constexpr unsigned kMost = 4096;  // the fallback loop ends here: few processes may have more
  if (first > last || ::close_range(first, last, flags) == 0) return;
  for (auto fd = static_cast<int>(first); fd <= static_cast<int>(std::min(last, kMost)); ++fd)
    if (flags == 0)
      ::close(fd);
    else
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace orch::launch
