#include "core/run/launch/process_shell.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "core/base/descriptor.h"
#include "core/base/text.h"
#include "core/run/launch/close_all.h"
#include "core/run/launch/environment.h"

namespace orch::launch {
namespace {

namespace bp = boost::process;
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Error cannot_run(const Command& command, std::string_view why) {
  return {printable(command.argv.empty() ? "" : command.argv[0]),
          fmt::format("cannot run it: {}", why), ""};
}

Error cannot_run(const Command& command, int code) {
  return cannot_run(command, std::generic_category().message(code));
}

// The child's three descriptors, and our ends of its pipes.
struct Streams {
  Descriptor in, out, err;  // the child's
  Descriptor from_out, from_err;
};

bool make_pipe(Descriptor& ours, Descriptor& theirs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

// A file in memory: a child that does not read all of it neither blocks us nor causes SIGPIPE.
Descriptor input_of(const std::string& text) {
  if (text.empty()) return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor file(::memfd_create("stdin", MFD_CLOEXEC));
  if (write_all(file.get(), text) != 0) return {};
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<Streams> open_streams(const Command& command) {
  Streams streams;
  streams.in = input_of(command.input);
  if (!streams.in.is_open()) return cannot_run(command, errno);
  if (!make_pipe(streams.from_err, streams.err)) return cannot_run(command, errno);
  if (command.output.empty()) {
    if (!make_pipe(streams.from_out, streams.out)) return cannot_run(command, errno);
    return streams;
  }
  streams.out =
      Descriptor(::open(command.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!streams.out.is_open()) return file_error(command.output, "cannot write", errno);
  return streams;
}

// The argument arrays for execve. Boost's own code (1.74) reads the first byte of empty strings,
// and compares short variables beyond their ends.
class ArgumentVector {
 public:
  explicit ArgumentVector(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (auto& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  ArgumentVector(const ArgumentVector&) = delete;
  ArgumentVector& operator=(const ArgumentVector&) = delete;
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> texts;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto name = text.substr(0, text.find('='));
    const bool ours = command.parsed && (name == "LC_ALL" || name == "SLURM_TIME_FORMAT");
    if (is_handed_on(name) && !ours) texts.emplace_back(text);
  }
  if (command.parsed) texts.insert(texts.end(), {"LC_ALL=C", "SLURM_TIME_FORMAT=%s"});
  return texts;
}

// Runs between fork and exec: only safe calls. A library may have opened files without
// close-on-exec.
void prepare_child(int hold) {
  ::setpgid(0, 0);
  close_all(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (hold >= 0) ::fcntl(hold, F_SETFD, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
}

Result<pid_t> start(const Command& command, const Streams& streams) {
  const auto& name = command.argv[0];
  const auto program =
      name.find('/') != std::string::npos ? boost::filesystem::path(name) : bp::search_path(name);
  if (program.empty()) return cannot_run(command, "no such program in PATH");
  std::error_code code;
  // Boost does not report a directory that cannot be entered.
  if (!command.directory.empty() && !fs::is_directory(command.directory, code))
    return file_error(command.directory, "cannot work in", code ? code.value() : ENOTDIR);
  ArgumentVector words(command.argv), environment(environment_of(command));
  bp::child child(
      bp::exe = boost::filesystem::absolute(program).string(),
      bp::start_dir = command.directory.empty() ? "." : command.directory.string(),
      bp::posix::fd.bind(0, streams.in.get()), bp::posix::fd.bind(1, streams.out.get()),
      bp::posix::fd.bind(2, streams.err.get()),
      bp::extend::on_exec_setup =
          [hold = command.hold, line = words.get(), variables = environment.get()](auto& executor) {
            executor.cmd_line = line;
            executor.env = variables;
            prepare_child(hold);
          },
      code);
  if (code) return cannot_run(command, code.message());
  child.detach();  // we wait for it ourselves
  return child.id();
}

// Reads what is in the pipe now; closes it at its end. False: more than the limit.
bool drain(Descriptor& pipe, std::string& into, std::size_t limit) {
  std::array<char, 65536> buffer;
  while (pipe.is_open()) {
    const auto count = ::read(pipe.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count <= 0) {
      pipe.close();
      return true;
    }
    into.append(buffer.data(), static_cast<std::size_t>(count));
    if (into.size() > limit) return false;
  }
  return true;
}

void wait_for_output(const Streams& streams, milliseconds longest) {
  std::array<pollfd, 2> pipes{};
  nfds_t count = 0;
  for (const auto* pipe : {&streams.from_out, &streams.from_err})
    if (pipe->is_open()) pipes[count++] = {pipe->get(), POLLIN, 0};
  ::poll(pipes.data(), count, static_cast<int>(longest.count()));
}

// Follows one child until it ends.
class Follower {
 public:
  Follower(pid_t pid, Streams& streams, std::size_t limit)
      : pid_(pid), streams_(streams), limit_(limit) {}

  // False if the deadline comes first.
  bool until(SteadyClock::time_point deadline, Output& output) {
    milliseconds pause{1};
    while (true) {
      const bool ended = has_ended(output);
      too_much_ |= !drain(streams_.from_out, output.out, limit_);
      too_much_ |= !drain(streams_.from_err, output.err, limit_);
      if (ended) return true;
      const auto now = SteadyClock::now();
      if (now >= deadline || (too_much_ && !stopped_)) return false;
      // Output wakes us; so does its end, usually with the child's end. A child that closed its
      // output long before is checked less and less often.
      const bool open = streams_.from_out.is_open() || streams_.from_err.is_open();
      const auto longest = open ? milliseconds(50) : pause;
      wait_for_output(streams_, std::min(longest, std::chrono::ceil<milliseconds>(deadline - now)));
      if (!open) pause = std::min(pause * 2, milliseconds(50));
    }
  }

  bool too_much() const { return too_much_; }
  void stop_reading() {
    if (!too_much_) return;
    stopped_ = true;
    streams_.from_out.close();
    streams_.from_err.close();
  }
  // Signals the group: descendants may hold the pipes, or the lock.
  void signal(int number) const { ::kill(-pid_, number); }

 private:
  bool has_ended(Output& output) const {
    int status = 0;
    const auto got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    if (got == pid_)
      output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    else
      output.code = 255;  // another part of the process has waited for it
    return true;
  }

  pid_t pid_;
  Streams& streams_;
  std::size_t limit_;
  bool too_much_ = false;
  bool stopped_ = false;
};

void end(Follower& child, Output& output) {
  child.stop_reading();
  child.signal(SIGTERM);
  if (child.until(SteadyClock::now() + std::chrono::seconds(2), output)) return;
  child.signal(SIGKILL);
  child.until(SteadyClock::now() + std::chrono::seconds(10), output);
}

}  // namespace

Result<Output> ProcessShell::run(const Command& command) {
  if (command.argv.empty()) return cannot_run(command, "no program is named");
  for (const auto& word : command.argv)
    if (word.find('\0') != std::string::npos)
      return cannot_run(command, "an argument has a NUL byte");
  auto streams = open_streams(command);
  if (!streams) return streams.error();
  const auto pid = start(command, *streams);
  if (!pid) return pid.error();
  for (auto* theirs : {&streams->in, &streams->out, &streams->err}) theirs->close();

  Output output;
  Follower child(*pid, *streams, max_output_);
  const auto limit = std::chrono::duration<double>(std::min(command.timeout_seconds, 1e8));
  if (!child.until(SteadyClock::now() + std::chrono::ceil<milliseconds>(limit), output)) {
    output.timed_out = !child.too_much();
    end(child, output);
  }
  if (child.too_much())
    return Error{printable(command.argv[0]),
                 fmt::format("it wrote more than {} MiB and was ended", max_output_ >> 20), ""};
  return output;
}

std::string complaint_of(const Output& output) {
  std::string last;
  for (const auto& line : split(output.err, '\n'))
    if (!trim(line).empty()) last = trim(line);
  if (last.empty()) return fmt::format("exit code {}, no message", output.code);
  if (last.size() > 300) last.resize(300);
  return printable(last);
}

}  // namespace orch::launch
