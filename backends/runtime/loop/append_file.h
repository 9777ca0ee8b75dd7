#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::train {

// A file of whole records: each is written by one write(), so that neither another thread nor a
// kill can split it. A full disk does not end a training: lost records are reported once on stderr.
// Thread-safe.
class AppendFile {
 public:
  AppendFile() = default;                     // discards all records
  explicit AppendFile(const fs::path& path);  // throws ClassifiedFailure ("disk")

  bool is_open() const { return file_.is_open(); }
  // false: lost, completely or in part.
  bool write(std::string_view record);

 private:
  std::string path_;
  Descriptor file_;
  std::atomic<bool> complained_ = false;
};

}  // namespace orch::train
