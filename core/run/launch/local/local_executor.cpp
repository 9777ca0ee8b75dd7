#include "core/run/launch/local/local_executor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/local_tasks.h"

namespace orch::launch {
namespace {

constexpr std::size_t kTail = 2000;  // characters of a log that a message quotes

std::string tail(const fs::path& log) {
  const auto text = read_file(log);
  if (!text) return {};
  const auto trimmed = trim(*text);
  return std::string(trimmed.substr(trimmed.size() > kTail ? trimmed.size() - kTail : 0));
}

// A started program that outlives us. heard: false if it still holds the inherited pipe after the
// time limit. If it was not started, error has the reason.
struct DetachedProgram {
  bool started = false;
  bool heard = false;
  std::string error;
};

void tell(int pipe, int code) {
  [[maybe_unused]] const auto ignored = ::write(pipe, &code, sizeof code);
}

// Runs in the grandchild: only plain system calls. The program inherits the pipe and closes it; if
// starting it fails, errno is written to the pipe.
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

// Forks twice, so that no process has to wait for the grandchild.
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

// Reads the pipe until every holder has closed it: nothing, or errno.
void listen(int pipe, double seconds, DetachedProgram& outcome) {
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

// Starts the program in its own session, with an empty stdin and its output in a log. It inherits
// `hold` too, unless that is -1.
DetachedProgram start_detached(const std::vector<std::string>& argv, const fs::path& log, int hold,
                               double seconds) {
  DetachedProgram outcome;
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

}  // namespace

fs::path LocalExecutor::folder_of(const std::string& submission) const {
  return options_.experiment_folder / "submissions" / submission;
}

Status LocalExecutor::test(const SubmitRequest& request) {
  Errors errors;
  if (!request.after.empty())
    errors.push_back({request.job_name, "a local run does not wait for another job",
                      "submit all its phases as one"});
  for (const auto& id : request.submission->runs) {
    const auto run = read_local_run(options_.experiment_folder / id);
    errors.add(run ? Status(check_local_run(*run, options_.trainers)) : run.error());
  }
  return errors;
}

SubmitOutcome LocalExecutor::submit(const SubmitRequest& request) {
  if (!request.after.empty())
    return {SubmitOutcome::Reply::refused, "", "a local run does not wait for another job"};
  auto argv = options_.supervisor;
  argv.push_back(request.folder.string());
  const auto log = request.folder / "supervisor.log";
  const auto outcome = start_detached(argv, log, request.lock, options_.answer_seconds);
  if (!outcome.started && !read_answer(request.folder))
    return {SubmitOutcome::Reply::refused, "",
            fmt::format("cannot start {}: {}", printable(argv.front()), outcome.error)};
  if (const auto job = read_answer(request.folder))
    return {SubmitOutcome::Reply::accepted, *job, ""};
  if (!outcome.heard)
    return {SubmitOutcome::Reply::unclear, "",
            fmt::format("the supervisor did not answer in {:.0f} s", options_.answer_seconds)};
  return {SubmitOutcome::Reply::refused, "", "the supervisor exited: " + tail(log)};
}

Result<std::optional<std::string>> LocalExecutor::find(const record::Submission& submission) {
  return read_answer(folder_of(submission.id));
}

Result<record::JobFacts> LocalExecutor::poll(const std::vector<const record::Submission*>& of) {
  record::JobFacts facts;
  for (const auto* submission : of) poll_one(*submission, facts);
  return facts;
}

void LocalExecutor::poll_one(const record::Submission& submission, record::JobFacts& facts) const {
  const auto folder = folder_of(submission.id);
  const auto job = read_answer(folder);
  if (!job) return;
  const auto note = read_note(folder);
  const auto host = note.host.empty() ? host_name() : note.host;
  // A supervisor on another host cannot be checked, so its files are trusted. Checked before the
  // files are read: those of an ended supervisor do not change any more.
  const bool alive = host != host_name() || is_alive(*parse_supervisor_id(*job));
  for (std::size_t index = 0; index < submission.runs.size(); ++index) {
    const auto read = read_task(folder, index);
    const auto task = read ? *read : std::nullopt;
    auto fact = task.value_or(record::JobFact());
    if (fact.end == 0 && !alive) {
      fact.state = "NODE_FAIL";
      fact.reason = "the supervisor is gone";
    } else if (!task) {
      fact.state = "PENDING";
      fact.reason = note.waits_for.empty() ? "waiting for the runs before it" : note.waits_for;
    } else if (fact.end == 0) {
      fact.elapsed_seconds = std::max(0.0, clock_.now() - fact.start);
    }
    fact.job = task_job(*job, submission.array, index);
    fact.nodes = host;
    facts[{submission.id, index}] = std::move(fact);
  }
}

Status LocalExecutor::cancel(const std::vector<record::JobFact>& tasks) {
  Errors errors;
  std::error_code code;
  const auto submissions = options_.experiment_folder / "submissions";
  for (const auto& folder : entries_of(submissions, code)) {
    const auto job = read_answer(folder);
    for (const auto& task : tasks) {
      const auto [supervisor, index] = parse_task_job(task.job);
      if (!job || *job != supervisor) continue;
      errors.add(mark(cancel_mark(folder, index)));
    }
  }
  if (code) return file_error(submissions, "cannot read", code.value());
  return errors;
}

}  // namespace orch::launch
