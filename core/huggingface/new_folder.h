#pragma once

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::huggingface {

// A folder that does not exist yet, or is empty.
Status check_new(const fs::path& folder);

// A folder that appears whole or not at all: filled beside its place, then renamed.
class NewFolder {
 public:
  static Result<NewFolder> create(const fs::path& place);
  const fs::path& path() const { return draft_; }
  Status finish();

  NewFolder(NewFolder&& other) noexcept;
  NewFolder& operator=(NewFolder&&) = delete;
  ~NewFolder();

 private:
  NewFolder(fs::path place, fs::path draft) : place_(std::move(place)), draft_(std::move(draft)) {}
  fs::path place_;
  fs::path draft_;  // empty: finished
};

}  // namespace orch::huggingface
