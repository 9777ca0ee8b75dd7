#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/files.h"
#include "core/base/result.h"

namespace orch {

// A file that is written beside its final path and renamed when it is complete: at every moment the
// path holds the old or the new bytes, never half. A draft that is not published is removed.
class DraftFile {
 public:
  enum class Name {
    own,     // one per process: several processes may write the same file, and the last one wins
    fixed,   // PATH.tmp: a draft that a killed process left is overwritten
    locked,  // PATH.tmp; a second writer is refused
  };
  static Result<DraftFile> create(const fs::path& path, Name name = Name::own);

  DraftFile(DraftFile&& other) noexcept;
  DraftFile& operator=(DraftFile&&) = delete;
  ~DraftFile();

  Status append(std::string_view bytes);
  Status append(const void* data, std::size_t bytes) {
    return append({static_cast<const char*>(data), bytes});
  }
  // Overwrites bytes that were appended and flushed.
  Status write_at(std::uint64_t position, const void* data, std::size_t bytes);
  Status read_at(std::uint64_t position, void* data, std::size_t bytes) const;
  Status flush();
  Status sync();     // flushes, and waits for the disk
  Status close();    // flushes without syncing; many drafts share one sync_disk_of
  Status publish();  // renames it to its final path

  int descriptor() const { return file_.get(); }

 private:
  DraftFile(fs::path path, Name name) : path_(std::move(path)), name_(name) {}

  fs::path path_;
  fs::path temp_;  // empty: published, or moved from
  Name name_;
  Descriptor file_;
  std::string buffer_;
};

// A file to be written into a folder: its name and content.
struct DraftContent {
  std::string name;
  std::string text;
};

// A folder that is filled beside its final path and appears there complete or not at all; removed
// unless it is published.
class DraftFolder {
 public:
  // At `place` there may be at most an empty folder. Creates the folders above it, and the files in
  // it without syncing them.
  static Result<DraftFolder> create(const fs::path& place,
                                    const std::vector<DraftContent>& files = {});

  DraftFolder(DraftFolder&& other) noexcept;
  DraftFolder& operator=(DraftFolder&&) = delete;
  ~DraftFolder();

  const fs::path& path() const { return draft_; }
  const fs::path& place() const { return place_; }
  Status sync();     // the files in it are on disk; many drafts share a sync_disk_of instead
  Status publish();  // a rename, which fails if another process was faster

 private:
  DraftFolder(fs::path place, fs::path draft)
      : place_(std::move(place)), draft_(std::move(draft)) {}
  Status write(const DraftContent& file) const;

  fs::path place_;
  fs::path draft_;  // empty: published, or moved from
};

// True if an entry of a folder is the draft of another entry.
bool is_draft(const fs::path& entry);

// Removes the draft folders that killed processes left behind.
void remove_dead_drafts(const fs::path& folder);

// The entries of a folder, for callers that must not overlook one: a folder that cannot be read is
// an error. A missing folder has no entries.
Result<std::vector<fs::path>> entries_if_there(const fs::path& folder);

// Syncs the file system's data to disk: one call for many files.
Status sync_disk_of(const fs::path& folder);

}  // namespace orch
