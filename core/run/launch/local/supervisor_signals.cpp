#include "core/run/launch/local/supervisor_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <utility>

namespace orch::launch {

SupervisorSignals::SupervisorSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGCHLD, SIGHUP})
    sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  file_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void SupervisorSignals::read() {
  signalfd_siginfo news;
  while (::read(file_.get(), &news, sizeof news) == static_cast<ssize_t>(sizeof news)) {
    if (news.ssi_signo == SIGTERM || news.ssi_signo == SIGINT) terminated_ = true;
    if (news.ssi_signo == SIGUSR1) stop_ = true;
  }
}

void SupervisorSignals::wait(int milliseconds) {
  pollfd ready = {file_.get(), POLLIN, 0};
  ::poll(&ready, 1, milliseconds);
  read();
}

bool SupervisorSignals::take_stop() { return std::exchange(stop_, false); }

}  // namespace orch::launch
