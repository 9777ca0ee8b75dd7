#pragma once

#include <string>

#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/result.h"

namespace orch {

// An advisory lock on a file (flock), held until this object and every descriptor that a child
// inherited from it are closed: it outlives us as long as a program that we started with it runs.
class FileLock {
 public:
  enum class Wait { no, yes };
  // Without waiting, a lock that another process holds is not an error: held() is false then. Where
  // the file system cannot lock, supported() and held() are false.
  static Result<FileLock> take(const fs::path& path, Wait wait);

  bool held() const { return held_; }
  bool supported() const { return supported_; }
  int descriptor() const { return file_.get(); }

 private:
  Descriptor file_;
  bool held_ = false;
  bool supported_ = true;
};

}  // namespace orch
