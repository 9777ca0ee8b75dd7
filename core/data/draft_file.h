#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/files.h"
#include "core/base/lock.h"
#include "core/base/result.h"

namespace orch::data {

// A file that is written under another name (PATH.tmp) and gets its own when it is whole. The name
// is always the same and locked: what a killed program left is overwritten, and two never write
// one.
class DraftFile {
 public:
  static Result<DraftFile> create(const fs::path& path);

  DraftFile(DraftFile&& other) noexcept;
  DraftFile& operator=(DraftFile&&) = delete;
  ~DraftFile();  // removes it if it was not kept

  Status write(const void* data, std::size_t bytes);
  Status write_at(std::uint64_t position, const void* data, std::size_t bytes);
  // Of what was written and flushed.
  Status read_at(std::uint64_t position, void* data, std::size_t bytes) const;
  Status flush();
  Status sync();  // flushes too
  Status keep();  // gives it its name

 private:
  DraftFile(fs::path path, FileLock lock);
  Status failed(int code) const;

  fs::path path_;
  FileLock lock_;  // its descriptor is the file's
  std::vector<std::byte> buffer_;
  bool ours_ = true;
};

}  // namespace orch::data
