#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::train {

// A file that grows by whole records: each is one write(), so that neither another thread nor a
// kill comes in between. A disk that is full does not end a training: what is lost is told once on
// stderr. Safe on several threads.
class AppendFile {
 public:
  AppendFile() = default;                     // takes everything and keeps nothing
  explicit AppendFile(const fs::path& path);  // throws Failed ("disk")

  bool is_open() const { return file_.is_open(); }
  // false: not, or not all of it.
  bool write(std::string_view record);

 private:
  std::string path_;
  Descriptor file_;
  std::atomic<bool> complained_ = false;
};

}  // namespace orch::train
