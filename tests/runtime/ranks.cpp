#include "tests/runtime/ranks.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/port.h"

namespace orch::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

int say_to = -1;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

[[noreturn]] void be_rank(const train::WorldOptions& options,
                          const std::function<void(train::WorldOptions)>& body) {
  int code = 0;
  try {
    at::set_num_threads(1);
    body(options);
  } catch (const std::exception& error) {
    say(error.what());
    code = 1;
  }
  ::_exit(code);
}

// Removed at the end of the test's process; ranks exit without that.
struct RanksFolder {
  std::filesystem::path path;
  explicit RanksFolder(std::filesystem::path at) : path(std::move(at)) {
    std::filesystem::create_directories(path);
  }
  ~RanksFolder() { std::filesystem::remove_all(path); }
};

struct Child {
  pid_t pid = 0;
  int hear_from = -1;
  bool is_stopped = false, has_ended = false;
};

Child start(const train::WorldOptions& options,
            const std::function<void(train::WorldOptions)>& body) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    ::close(ends[0]);
    say_to = ends[1];
    be_rank(options, body);
  }
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {pid, ends[0]};
}

void hear(const Child& child, std::string& said) {
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(child.hear_from, buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(got));
}

void look_after(Child& child, RankOutcome& outcome, SteadyClock::time_point began) {
  hear(child, outcome.said);
  int status = 0;
  if (::waitpid(child.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) <= 0) return;
  child.is_stopped = WIFSTOPPED(status);
  if (!WIFEXITED(status) && !WIFSIGNALED(status)) return;
  child.has_ended = true;
  outcome.seconds = seconds_since(began);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  hear(child, outcome.said);
  ::close(child.hear_from);
}

void wait_for(std::vector<Child>& children, std::vector<RankOutcome>& outcomes,
              SteadyClock::time_point began) {
  while (true) {
    bool is_any_running = false, is_any_left = false;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!children[i].has_ended) look_after(children[i], outcomes[i], began);
      is_any_left = is_any_left || !children[i].has_ended;
      is_any_running = is_any_running || !(children[i].has_ended || children[i].is_stopped);
    }
    if (!is_any_left) return;
    if (!is_any_running || seconds_since(began) > 400)
      for (const auto& child : children)
        if (!child.has_ended) ::kill(child.pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::vector<RankOutcome> run_ranks(int count, const std::function<void(train::WorldOptions)>& body,
                                   const RankOptions& options) {
  train::WorldOptions world;
  world.size = count;
  world.port = free_port();
  world.timeout_seconds = options.timeout_seconds;
  world.flight_folder = options.flight_folder;
  world.jitter_ms = options.jitter_ms;
  const auto began = SteadyClock::now();
  std::vector<Child> children;
  std::vector<pid_t> pids;
  for (world.rank = 0; world.rank < count; ++world.rank) {
    world.local_rank = world.rank;
    children.push_back(start(world, body));
    pids.push_back(children.back().pid);
  }
  if (options.meanwhile) options.meanwhile(pids);
  std::vector<RankOutcome> outcomes(children.size());
  wait_for(children, outcomes, began);
  return outcomes;
}

std::vector<RankOutcome> run_worlds(int count, const std::function<void(train::World&)>& body,
                                    const RankOptions& options) {
  return run_ranks(
      count,
      [&](const train::WorldOptions& with) {
        train::World world(with);
        body(world);
      },
      options);
}

void say(const std::string& text) {
  const auto line = text + "\n";
  if (::write(say_to, line.data(), line.size()) < 0) ::_exit(3);
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("expected: " + what);
}

std::string complaints(const std::vector<RankOutcome>& outcomes) {
  std::string all;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (!outcomes[rank].ok())
      all += fmt::format("rank {} (exit {}, signal {}): {}", rank, outcomes[rank].exit_code,
                         outcomes[rank].signal, outcomes[rank].said);
  return all;
}

}  // namespace orch::test
