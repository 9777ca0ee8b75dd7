#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch {

// A plain file open for reading at any place; anything else (missing, a directory, a pipe) is not.
class PlainFile {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{4} << 20;

  explicit PlainFile(const fs::path& path);  // errno says why it could not be opened

  bool is_open() const { return file_.is_open(); }
  std::int64_t size() const { return size_; }
  double modified() const { return modified_; }  // seconds since 1970

  // Up to so many bytes from there; fewer at the end of the file or if it cannot be read.
  std::string read(std::int64_t from, std::int64_t bytes) const;

  // Visits the lines that begin there or behind, without their ends, until visit returns false. The
  // last may have no end. Of a line longer than kLongestLine there is only a part.
  void each_line(std::int64_t from, const std::function<bool(std::string_view)>& visit) const;

 private:
  Descriptor file_;
  std::int64_t size_ = 0;
  double modified_ = 0;
};

}  // namespace orch
