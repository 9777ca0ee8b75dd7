#pragma once

#include <string>
#include <utility>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace orch::store {

// A run folder being written beside its place; removed again unless it gets there.
class Draft {
 public:
  Draft(const fs::path& parent, const std::string& id);
  Draft(Draft&& other) noexcept
      : temp_(std::exchange(other.temp_, {})), target_(std::move(other.target_)) {}
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  Status fill(const Folder& folder);
  Status publish();  // a rename: the folder is there with all that is in it, or not at all

 private:
  fs::path temp_;
  fs::path target_;
};

bool is_draft(const fs::path& entry);

// Removes what killed processes left behind.
void remove_dead_drafts(const fs::path& folder);

}  // namespace orch::store
