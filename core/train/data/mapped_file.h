#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::data {

// Unmaps the file.
struct Unmap {
  std::size_t size = 0;
  void operator()(void* data) const;
};

// A whole file, read-only, mapped into memory.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);

  const std::byte* data() const { return static_cast<const std::byte*>(data_.get()); }
  std::size_t size() const { return data_.get_deleter().size; }
  std::string_view text() const { return {static_cast<const char*>(data_.get()), size()}; }
  // Advises the kernel that it will be read from beginning to end.
  void expect_sequential() const;

 private:
  std::unique_ptr<void, Unmap> data_;  // null for an empty file
};

}  // namespace orch::data
