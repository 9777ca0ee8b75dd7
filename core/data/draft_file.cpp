#include "core/data/draft_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/text.h"

namespace orch::data {
namespace {

constexpr std::size_t kBuffer = 1 << 20;

fs::path draft_of(const fs::path& path) { return path.string() + ".tmp"; }

}  // namespace

Result<DraftFile> DraftFile::create(const fs::path& path) {
  auto lock = FileLock::take(draft_of(path), FileLock::Wait::no);
  if (!lock) return lock.error();
  // Where nothing can be locked, nobody can tell.
  if (!lock->held() && lock->supported())
    return Error{printable(draft_of(path).string()), "another program is writing it",
                 "wait for it, or name another place"};
  DraftFile draft(path, std::move(*lock));
  if (::ftruncate(draft.lock_.descriptor(), 0) != 0) return draft.failed(errno).error();
  draft.buffer_.reserve(kBuffer);
  return draft;
}

DraftFile::DraftFile(fs::path path, FileLock lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

DraftFile::DraftFile(DraftFile&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      buffer_(std::move(other.buffer_)),
      ours_(std::exchange(other.ours_, false)) {}

DraftFile::~DraftFile() {
  if (ours_) ::unlink(draft_of(path_).c_str());
}

Status DraftFile::failed(int code) const { return file_error(path_, "cannot write", code); }

Status DraftFile::write(const void* data, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  buffer_.insert(buffer_.end(), from, from + bytes);
  return buffer_.size() < kBuffer ? Status() : flush();
}

Status DraftFile::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const auto wrote = ::write(lock_.descriptor(), buffer_.data() + done, buffer_.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failed(errno);
    done += static_cast<std::size_t>(wrote);
  }
  buffer_.clear();
  return {};
}

Status DraftFile::write_at(std::uint64_t position, const void* data, std::size_t bytes) {
  const auto wrote = ::pwrite(lock_.descriptor(), data, bytes, static_cast<off_t>(position));
  return wrote == static_cast<ssize_t>(bytes) ? Status() : failed(wrote < 0 ? errno : EIO);
}

Status DraftFile::read_at(std::uint64_t position, void* data, std::size_t bytes) const {
  const auto got = ::pread(lock_.descriptor(), data, bytes, static_cast<off_t>(position));
  return got == static_cast<ssize_t>(bytes)
             ? Status()
             : file_error(path_, "cannot read back", got < 0 ? errno : EIO);
}

Status DraftFile::sync() {
  if (auto status = flush(); !status) return status;
  return ::fsync(lock_.descriptor()) == 0 ? Status() : failed(errno);
}

Status DraftFile::keep() {
  if (::rename(draft_of(path_).c_str(), path_.c_str()) != 0)
    return file_error(path_, "cannot put in place", errno);
  ours_ = false;
  return {};
}

}  // namespace orch::data
