#include "core/run/launch/local/supervisor_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/run/launch/close_all.h"
#include "core/run/launch/local/local_machine.h"

namespace orch::launch {
namespace {

// Everything that the child needs, prepared before the fork: after it, only plain system calls are
// allowed.
struct PreparedExec {
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> environment;
  cpu_set_t* cores = nullptr;
  std::size_t cores_size = 0;

  explicit PreparedExec(const RankCommand& command) {
    for (const auto& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    for (const auto& [name, value] : command.environment)
      variables.push_back(fmt::format("{}={}", name, value));
    for (auto& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    if (command.cores.empty()) return;
    const int most = *std::max_element(command.cores.begin(), command.cores.end()) + 1;
    cores = CPU_ALLOC(most);
    cores_size = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(cores_size, cores);
    for (const int core : command.cores) CPU_SET_S(core, cores_size, cores);
  }
  ~PreparedExec() {
    if (cores) CPU_FREE(cores);
  }
  PreparedExec(const PreparedExec&) = delete;
  PreparedExec& operator=(const PreparedExec&) = delete;
};

void complain(const char* what, int code) {
  const char* why = std::strerror(code);
  for (const char* part : {"orch: cannot start ", what, ": ", why, "\n"})
    [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, part, std::strlen(part));
}

[[noreturn]] void become_rank(const PreparedExec& prepared, const char* directory, int output,
                              pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl took effect
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  close_all(STDERR_FILENO + 1);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (prepared.cores) ::sched_setaffinity(0, prepared.cores_size, prepared.cores);
  if (::chdir(directory) != 0) {
    complain(directory, errno);
    ::_exit(126);
  }
  ::execve(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  const int code = errno;
  complain(prepared.argv[0], code);
  ::_exit(code == ENOENT ? 127 : 126);
}

}  // namespace

std::string text(const RankEnd& end) {
  if (end.signal == 0) return fmt::format("rank {}: exited with code {}", end.rank, end.code);
  return fmt::format("rank {}: killed by signal {} ({})", end.rank, end.signal,
                     ::strsignal(end.signal));
}

Ranks::~Ranks() {
  if (running()) signal(SIGKILL);
  while (running()) step(-1, 100);
  clean_up();
}

Status Ranks::start(const std::vector<RankCommand>& commands) {
  for (const auto& command : commands)
    if (auto status = start_one(command); !status) return status;
  return {};
}

Status Ranks::start_one(const RankCommand& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{"local run", fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                 "raise the limit on open files (ulimit -n)"};
  Descriptor ours(ends[0]), theirs(ends[1]);
  const PreparedExec prepared(command);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_rank(prepared, command.directory.c_str(), theirs.get(), parent);
  if (pid < 0)
    return Error{"local run", fmt::format("cannot start a process: {}", std::strerror(errno)),
                 "raise the limit on processes (ulimit -u)"};
  ::setpgid(pid, pid);  // here too: a signal may come before the child has done it
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  ranks_.push_back({pid, std::move(ours), true});
  ++running_;
  return {};
}

void Ranks::step(int descriptor, int milliseconds) {
  std::vector<pollfd> polled;
  std::vector<std::size_t> whose;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].output.is_open()) continue;
    polled.push_back({ranks_[rank].output.get(), POLLIN, 0});
    whose.push_back(rank);
  }
  polled.push_back({descriptor, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), milliseconds) > 0)
    for (std::size_t i = 0; i < whose.size(); ++i)
      if (polled[i].revents != 0) read_output(whose[i]);
  log_.flush();
  reap();
}

// Limited: a rank with endless output must not keep us from the others.
void Ranks::read_output(std::size_t rank) {
  char buffer[1 << 16];
  for (int i = 0; i < 4; ++i) {
    const auto got = ::read(ranks_[rank].output.get(), buffer, sizeof buffer);
    if (got > 0) {
      log_.add(rank, {buffer, static_cast<std::size_t>(got)});
    } else {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) close_output(rank);
      return;
    }
  }
}

void Ranks::close_output(std::size_t rank) {
  log_.close(rank);
  ranks_[rank].output.close();
}

// Orphaned descendants of the ranks are our children too (see supervise), and must be waited for as
// well.
void Ranks::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [&](const Rank& r) { return r.running && r.pid == pid; });
    if (rank == ranks_.end()) continue;
    rank->running = false;
    --running_;
    const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ended_.push_back(
        {static_cast<std::size_t>(rank - ranks_.begin()), by ? 128 + by : WEXITSTATUS(status), by});
  }
}

void Ranks::signal(int number) {
  for (const auto& rank : ranks_)
    if (rank.running) ::killpg(rank.pid, number);
}

void Ranks::clean_up() {
  for (int i = 0; i < 100; ++i) {
    const auto left = descendants(::getpid());
    if (left.empty()) break;
    for (const auto& process : left) ::kill(process.pid, SIGKILL);
    ::poll(nullptr, 0, 10);
    reap();
  }
  reap();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    for (int i = 0; i < 1000 && ranks_[rank].output.is_open(); ++i) {
      pollfd ready = {ranks_[rank].output.get(), POLLIN, 0};
      if (::poll(&ready, 1, 0) <= 0) break;
      read_output(rank);
    }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].output.is_open()) close_output(rank);
  log_.flush();
}

}  // namespace orch::launch
