#include "core/run/launch/local/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/clock.h"
#include "core/base/lock.h"
#include "core/base/room.h"
#include "core/base/text.h"
#include "core/run/launch/close_all.h"
#include "core/run/launch/local/local_machine.h"
#include "core/run/launch/local/supervisor_run.h"

namespace orch::launch {
namespace {

// Linked, not renamed: if there are two supervisors for one submission, only one succeeds.
Status answer(const fs::path& folder, const std::string& job) {
  const auto target = answer_file(folder);
  const auto temporary = folder / fmt::format(".answer.{}", ::getpid());
  if (auto status = write_file_atomically(temporary, job + "\n"); !status) return status;
  const int code = ::link(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
  ::unlink(temporary.c_str());
  if (code == EEXIST)
    return Error{printable(folder.string()), "has a supervisor already", "submit the runs anew"};
  if (code != 0) return file_error(target, "cannot put in place", code);
  sync_folder(folder);
  return {};
}

// The lock and the pipe of the process that started us, which waits on the pipe.
void close_inherited(int keep) {
  close_all(STDERR_FILENO + 1, static_cast<unsigned>(keep) - 1);
  close_all(static_cast<unsigned>(keep) + 1);
}

record::JobFact cancelled_before_it_began(double now) {
  record::JobFact task;
  task.state = "CANCELLED";
  task.reason = "cancelled before it began";
  task.exit_code = 143;
  task.start = task.end = now;
  return task;
}

class Supervisor {
 public:
  Supervisor(const fs::path& folder, const SupervisorOptions& options, SupervisorSignals& signals)
      : folder_(folder), options_(options), signals_(signals) {}

  int work() {
    take_lock();
    for (std::size_t index = 0; index < options_.submission.runs.size(); ++index) {
      signals_.read();
      if (cancelled(index))
        note_cancelled(index);
      else
        SupervisedRun(folder_, index, options_, signals_).work();
    }
    return 0;
  }

 private:
  bool cancelled(std::size_t index) const {
    return signals_.terminated() || folder_.asks_to_cancel(index);
  }

  bool all_cancelled() const {
    for (std::size_t index = 0; index < options_.submission.runs.size(); ++index)
      if (!cancelled(index)) return false;
    return true;
  }

  void note_cancelled(std::size_t index) {
    const auto task = cancelled_before_it_began(clock_.now());
    if (auto status = write_task(folder_.path(), index, task); !status) complain(status.error());
  }

  static void complain(const Errors& errors) {
    std::fprintf(stderr, "%s\n", orch::text(errors).c_str());
  }

  // Waits until no other supervisor works, or until all runs are cancelled. On a machine without
  // file locks, training goes on without one.
  void take_lock() {
    auto path = options_.lock.empty() ? local_lock_file() : Result<fs::path>(options_.lock);
    if (!path) complain(path.error());
    std::string waits_for;
    note({});
    while (path) {
      auto lock = FileLock::take(*path, FileLock::Wait::no);
      if (!lock || !lock->supported()) {
        complain(lock ? Errors(Error{path->string(), "cannot be locked: not waiting", ""})
                      : lock.error());
        return;
      }
      if (lock->held()) {
        lock_ = std::move(*lock);
        leave_pid();
        break;
      }
      if (all_cancelled()) return;
      if (const auto holder = holder_of(*path); holder != waits_for) note(waits_for = holder);
      signals_.wait(200);
    }
    if (!waits_for.empty()) note({});
  }

  void leave_pid() {
    const auto text = fmt::format("{}\n", ::getpid());
    if (::ftruncate(lock_.descriptor(), 0) != 0 ||
        ::pwrite(lock_.descriptor(), text.data(), text.size(), 0) < 0)
      std::fprintf(stderr, "orch: cannot write the lock file: %s\n", std::strerror(errno));
  }

  static std::string holder_of(const fs::path& path) {
    const auto content = read_file(path);
    const auto pid = content ? printable(trim(*content).substr(0, 20)) : std::string();
    return fmt::format("another local run is going on ({})", pid.empty() ? "just begun" : pid);
  }

  void note(const std::string& waits_for) {
    if (auto status = write_note(folder_.path(), {json_safe(host_name()), waits_for}); !status)
      complain(status.error());
  }

  const SupervisorFolder folder_;
  const SupervisorOptions& options_;
  SupervisorSignals& signals_;
  SystemClock clock_;
  FileLock lock_;
};

}  // namespace

int supervise(const fs::path& submission_folder, const SupervisorOptions& options) {
  std::error_code code;
  const auto folder = fs::canonical(submission_folder, code);
  if (code) {
    std::fprintf(stderr, "%s: %s\n", submission_folder.c_str(), code.message().c_str());
    return 1;
  }
  for (const auto& run : options.submission.runs) {
    if (is_plain_name(run)) continue;
    std::fprintf(stderr, "'%s' is not a run of this experiment\n", printable(run).c_str());
    return 1;
  }
  // A reader of the answer may send a signal at once: so signals are blocked before it is written.
  SupervisorSignals signals;
  if (auto status = answer(folder, text(own_supervisor_id())); !status) {
    std::fprintf(stderr, "%s\n", orch::text(status.error()).c_str());
    return 1;
  }
  close_inherited(signals.descriptor());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphaned descendants become our children
  return Supervisor(folder, options, signals).work();
}

Result<fs::path> lock_file_in(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return file_error(folder, "cannot create", errno);
  // lstat, not stat: in /tmp anyone may have created a link of this name.
  struct stat facts = {};
  if (::lstat(folder.c_str(), &facts) != 0) return file_error(folder, "cannot look at", errno);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::getuid() || (facts.st_mode & 022) != 0)
    return Error{printable(folder.string()), "is not a folder that only we can write in",
                 "remove it, or set XDG_RUNTIME_DIR"};
  return folder / "orch-local.lock";
}

// XDG_RUNTIME_DIR is only the second choice: it is removed with the user's last login, which a
// supervisor outlives, and the next supervisor would create another lock.
Result<fs::path> local_lock_file() {
  auto file = lock_file_in(fs::path("/tmp") / fmt::format("orch-{}", ::getuid()));
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (file || !runtime || *runtime != '/') return file;
  return lock_file_in(runtime);
}

}  // namespace orch::launch
