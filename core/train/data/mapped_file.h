#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::data {

// A whole file, read-only, mapped into memory.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  const std::byte* data() const { return static_cast<const std::byte*>(data_); }
  std::size_t size() const { return size_; }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
  // It will be read from its beginning to its end.
  void expect_sequential() const;

 private:
  void* data_ = nullptr;  // null for an empty file
  std::size_t size_ = 0;
};

}  // namespace orch::data
