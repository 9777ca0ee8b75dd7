#pragma once

#include <cstdint>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::events {

// A plain file open for reading at any place; anything else (missing, a directory, a pipe) is not.
class Window {
 public:
  explicit Window(const fs::path& path);

  bool is_open() const { return file_.is_open(); }
  std::int64_t size() const { return size_; }
  double modified() const { return modified_; }  // seconds since 1970

  // Up to so many bytes from there; fewer at the end of the file or if it cannot be read.
  std::string read(std::int64_t from, std::int64_t bytes) const;

 private:
  Descriptor file_;
  std::int64_t size_ = 0;
  double modified_ = 0;
};

}  // namespace orch::events
