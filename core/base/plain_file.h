#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch {

// A regular file, open for random reads; anything else (missing, a directory, a pipe) stays closed.
class PlainFile {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{4} << 20;

  explicit PlainFile(const fs::path& path);  // errno says why it could not be opened

  bool is_open() const { return file_.is_open(); }
  std::int64_t size() const { return size_; }
  double modified() const { return modified_; }  // seconds since 1970

  // Up to `bytes` bytes from there; fewer at the end of the file or if it cannot be read.
  std::string read(std::int64_t from, std::int64_t bytes) const;

  // Visits the lines that begin at or after `from`, without their line ends, until visit returns
  // false. The last line may lack its line end. A line longer than kLongestLine is cut.
  void each_line(std::int64_t from, const std::function<bool(std::string_view)>& visit) const;

 private:
  Descriptor file_;
  std::int64_t size_ = 0;
  double modified_ = 0;
};

}  // namespace orch
