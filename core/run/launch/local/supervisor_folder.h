#pragma once

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::launch {

// The folder of a submission, by which others tell its supervisor what to do.
class SupervisorFolder {
 public:
  explicit SupervisorFolder(const fs::path& path);  // holds it open

  const fs::path& path() const { return path_; }
  // Not where it was only moved, or is out of reach for a while.
  bool is_deleted() const;
  // By a mark; or it is deleted, for then no mark will come and nobody learns how the run ends.
  bool asks_to_cancel(std::size_t index) const;

 private:
  fs::path path_;
  Descriptor file_;
};

}  // namespace orch::launch
