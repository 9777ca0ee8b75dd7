#pragma once

#include <string>
#include <utility>
#include <vector>

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
  Status sync();     // what it holds is on disk; for a single draft, several share a syncfs
  Status publish();  // a rename: the folder is there with all that is in it, or not at all

 private:
  fs::path temp_;
  fs::path target_;
};

// Files that are written beside their places, synced together and renamed: each holds the old or
// the new text, never half. What was not published is removed.
class FileBatch {
 public:
  FileBatch() = default;
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;
  ~FileBatch();

  Status add(const fs::path& path, const std::string& text);
  Status publish();

 private:
  std::vector<fs::path> waiting_;
};

// All of a file system's data is on disk: one call for many files.
Status sync_disk_of(const fs::path& folder);

bool is_draft(const fs::path& entry);

// Removes what killed processes left behind.
void remove_dead_drafts(const fs::path& folder);

}  // namespace orch::store
