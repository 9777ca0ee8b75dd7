#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "core/train/checkpoint/safetensors.h"

namespace orch::checkpoint {
namespace {

// The disk begins with these while we go on; otherwise all waits for the last sync.
constexpr std::uint64_t kFlush = std::uint64_t{32} << 20;
constexpr std::size_t kWindow = std::size_t{1} << 20;

bool has_no_room(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

}  // namespace

Result<ShardWriter> ShardWriter::create(const fs::path& path, std::uint64_t bytes) {
  auto draft = DraftFile::create(path, DraftFile::Name::fixed);
  if (!draft) return draft.error();
  if (bytes > 0 && ::fallocate(draft->descriptor(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      has_no_room(errno))
    return file_error(path, "cannot write", errno);
  return ShardWriter(std::move(*draft));
}

Status ShardWriter::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto chunk = data.first(std::min(kChunk, data.size()));
    sum_.add(chunk);
    if (auto status = draft_.append(chunk.data(), chunk.size()); !status) return status;
    written_ += chunk.size();
    data = data.subspan(chunk.size());
    if (written_ - asked_to_disk_ < kFlush) continue;
    ::sync_file_range(draft_.descriptor(), static_cast<off_t>(asked_to_disk_),
                      static_cast<off_t>(written_ - asked_to_disk_), SYNC_FILE_RANGE_WRITE);
    asked_to_disk_ = written_;
  }
  return {};
}

Status ShardWriter::finish() {
  if (auto status = draft_.sync(); !status) return status;
  return draft_.publish();
}

Result<ShardReader> ShardReader::open(const fs::path& path) {
  ShardReader reader(path, Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  if (!reader.file_.is_open()) return file_error(path, "cannot open", errno);
  struct stat facts {};
  if (::fstat(reader.file_.get(), &facts) != 0) return file_error(path, "cannot read", errno);
  if (!S_ISREG(facts.st_mode)) return Error{printable(path.string()), "is no file", ""};
  reader.bytes_ = static_cast<std::uint64_t>(facts.st_size);
  return reader;
}

Status ShardReader::fetch(std::uint64_t at, std::span<std::byte> to) const {
  const auto got = read_at(file_.get(), at, to.data(), to.size());
  if (got < 0) return file_error(path_, "cannot read", errno);
  if (static_cast<std::size_t>(got) < to.size())
    return Error{printable(path_.string()), "is shorter than it should be", "get it again"};
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
