#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "core/checkpoint/safetensors.h"

namespace orch::checkpoint {
namespace {

// Summed up while in the cache, then written; large enough for one call to be cheap.
constexpr std::size_t kChunk = std::size_t{1} << 20;
// The disk begins with these while we go on; otherwise all waits for the last sync.
constexpr std::uint64_t kFlush = std::uint64_t{32} << 20;
constexpr std::size_t kWindow = std::size_t{1} << 20;

bool write_all(int fd, std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto written = ::write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool has_no_room(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

}  // namespace

Result<ShardWriter> ShardWriter::create(const fs::path& path, std::uint64_t bytes) {
  ShardWriter writer(path, -1);
  writer.fd_ = ::open(writer.temp().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (writer.fd_ < 0) return file_error(path, "cannot create", errno);
  if (bytes > 0 && ::fallocate(writer.fd_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
      has_no_room(errno))
    return writer.failed("cannot write", errno);
  return writer;
}

ShardWriter::ShardWriter(ShardWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      written_(other.written_),
      asked_to_disk_(other.asked_to_disk_),
      sum_(other.sum_) {}

ShardWriter::~ShardWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temp().c_str());
}

Error ShardWriter::failed(std::string_view doing, int code) {
  return file_error(path_, doing, code);
}

Status ShardWriter::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto chunk = data.first(std::min(kChunk, data.size()));
    sum_.add(chunk);
    if (!write_all(fd_, chunk)) return failed("cannot write", errno);
    written_ += chunk.size();
    data = data.subspan(chunk.size());
    if (written_ - asked_to_disk_ < kFlush) continue;
    ::sync_file_range(fd_, static_cast<off_t>(asked_to_disk_),
                      static_cast<off_t>(written_ - asked_to_disk_), SYNC_FILE_RANGE_WRITE);
    asked_to_disk_ = written_;
  }
  return {};
}

Status ShardWriter::finish() {
  if (::fsync(fd_) != 0) return failed("cannot write", errno);
  // Close tells of errors, too (NFS).
  if (::close(std::exchange(fd_, -1)) != 0) {
    const int code = errno;
    ::unlink(temp().c_str());
    return failed("cannot write", code);
  }
  if (::rename(temp().c_str(), path_.c_str()) == 0) return {};
  const int code = errno;
  ::unlink(temp().c_str());
  return failed("cannot put in place", code);
}

Result<ShardReader> ShardReader::open(const fs::path& path) {
  ShardReader reader(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC), 0);
  if (reader.fd_ < 0) return file_error(path, "cannot open", errno);
  struct stat facts {};
  if (::fstat(reader.fd_, &facts) != 0) return file_error(path, "cannot read", errno);
  if (!S_ISREG(facts.st_mode)) return Error{printable(path.string()), "is no file", ""};
  reader.bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return reader;
}

ShardReader::ShardReader(ShardReader&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      window_(std::move(other.window_)),
      window_at_(other.window_at_) {}

ShardReader::~ShardReader() {
  if (fd_ >= 0) ::close(fd_);
}

Status ShardReader::fetch(std::uint64_t at, std::span<std::byte> to) const {
  while (!to.empty()) {
    const auto got = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path_, "cannot read", errno);
    if (got == 0)
      return Error{printable(path_.string()), "is shorter than it should be", "get it again"};
    at += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Status ShardReader::read(std::uint64_t at, std::span<std::byte> to) {
  if (to.size() >= kWindow / 4) return fetch(at, to);
  if (at < window_at_ || at + to.size() > window_at_ + window_.size()) {
    const auto left = at < bytes_ ? bytes_ - at : 0;
    window_.resize(
        std::max(to.size(), static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, left))));
    window_at_ = at;
    if (auto status = fetch(at, window_); !status) {
      window_.clear();
      return status;
    }
  }
  if (!to.empty()) std::memcpy(to.data(), window_.data() + (at - window_at_), to.size());
  return {};
}

}  // namespace orch::checkpoint
