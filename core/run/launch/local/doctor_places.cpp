#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/lock.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/run/launch/local/doctor.h"
#include "core/run/launch/local/supervisor.h"

namespace orch::launch {
namespace {

using CheckState = DoctorCheck::State;

constexpr double kLittleSpace = 10e9;  // bytes; a few checkpoints of a small model
constexpr double kFewFiles = 100'000;  // a sweep of 5,000 runs creates about ten each
constexpr double kSkewSeconds = 5;

// The folder itself, or its nearest existing parent.
fs::path nearest_folder(const fs::path& path) {
  std::error_code code;
  auto folder = fs::absolute(path.empty() ? fs::path(".") : path, code);
  while (folder.has_relative_path() && !fs::is_directory(folder, code))
    folder = folder.parent_path();
  return folder;
}

DoctorCheck check_space(const fs::path& folder) {
  struct statvfs facts = {};
  const auto what = "disk of " + printable(folder.string());
  if (::statvfs(folder.c_str(), &facts) != 0)
    return {what, CheckState::note, std::strerror(errno), "check the path"};
  const double block = static_cast<double>(facts.f_frsize);
  const double free = static_cast<double>(facts.f_bavail) * block;
  const double all = static_cast<double>(facts.f_blocks) * block;
  const auto found = fmt::format("{} free of {}", format_bytes(free), format_bytes(all));
  if (free < kLittleSpace)
    return {what, CheckState::note, found, "free some space, or name another place with --runs"};
  // Some file systems have no fixed number of files, and report 0 of 0.
  if (facts.f_files > 0 && static_cast<double>(facts.f_favail) < kFewFiles)
    return {what, CheckState::note, fmt::format("{}, {} files left", found, facts.f_favail),
            "remove files there, or name another place with --runs"};
  return {what, CheckState::ok, found, ""};
}

// A quota shows only when writing: a few MiB show at least if it is used up.
DoctorCheck check_writing(const fs::path& file) {
  const Descriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!opened.is_open())
    return {"writing there", CheckState::missing, std::strerror(errno),
            "check its permissions, or name another place with --runs"};
  const std::string text(std::size_t{4} << 20, 'x');
  int code = write_all(opened.get(), text);
  if (code == 0 && ::fsync(opened.get()) != 0) code = errno;
  if (code == 0) return {"writing there", CheckState::ok, "a file of 4 MiB was written", ""};
  return {"writing there", CheckState::missing,
          code == EDQUOT ? std::string("your quota is used up") : std::strerror(code),
          "free some space or quota ('quota -s', on Lustre 'lfs quota -h -u $USER .')"};
}

DoctorCheck check_lock(const fs::path& file) {
  const auto first = FileLock::take(file, FileLock::Wait::no);
  if (first && first->held()) {
    const auto second = FileLock::take(file, FileLock::Wait::no);
    if (second && !second->held()) return {"locks there", CheckState::ok, "work", ""};
    return {"locks there", CheckState::note, "two runs could take the same lock",
            "run only one orch at a time on an experiment"};
  }
  return {"locks there", CheckState::note,
          first ? "the file system cannot lock" : first.error().front().fact,
          "run only one orch at a time on an experiment, or ask for the mount option flock "
          "(Lustre: -o flock)"};
}

DoctorCheck check_clock(const fs::path& file, const Clock& clock) {
  struct stat facts = {};
  const double now = clock.now();
  if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) != 0 || ::stat(file.c_str(), &facts) != 0)
    return {"clock there", CheckState::note, std::strerror(errno), ""};
  const double theirs =
      static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  const double skew = theirs - now;
  if (std::abs(skew) < kSkewSeconds) return {"clock there", CheckState::ok, "agrees with ours", ""};
  return {"clock there", CheckState::note,
          fmt::format("is {} {} ours", format_seconds(std::abs(skew)),
                      skew > 0 ? "ahead of" : "behind"),
          "Debian: apt install chrony; elsewhere let both machines follow the same time server"};
}

DoctorCheck check_local_lock() {
  const auto file = local_lock_file();
  if (file) return {"local runs", CheckState::ok, "queue by " + printable(file->string()), ""};
  const auto& error = file.error().front();
  return {"local runs", CheckState::note, "do not queue: " + error.place + " " + error.fact,
          error.fix};
}

}  // namespace

std::vector<DoctorCheck> examine_places(const Clock& clock, const fs::path& runs) {
  const auto folder = nearest_folder(runs);
  const auto file = folder / fmt::format(".orch-doctor-{}", ::getpid());
  std::vector<DoctorCheck> checks = {check_space(folder), check_writing(file)};
  if (checks.back().state == CheckState::ok) {
    checks.push_back(check_lock(file));
    checks.push_back(check_clock(file, clock));
  }
  ::unlink(file.c_str());
  checks.push_back(check_local_lock());
  return checks;
}

}  // namespace orch::launch
