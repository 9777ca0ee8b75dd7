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

// A file that is written beside its place and gets its name when it is whole: at every moment the
// path holds the old or the new bytes, never half. What is not published is removed.
class DraftFile {
 public:
  enum class Name {
    own,     // each process has one: several may write the same file, and the last one stays
    fixed,   // PATH.tmp: what a killed process left is overwritten
    locked,  // PATH.tmp, and who comes second is refused
  };
  static Result<DraftFile> create(const fs::path& path, Name name = Name::own);

  DraftFile(DraftFile&& other) noexcept;
  DraftFile& operator=(DraftFile&&) = delete;
  ~DraftFile();

  Status append(std::string_view bytes);
  Status append(const void* data, std::size_t bytes) {
    return append({static_cast<const char*>(data), bytes});
  }
  // Of what was appended and flushed.
  Status write_at(std::uint64_t position, const void* data, std::size_t bytes);
  Status read_at(std::uint64_t position, void* data, std::size_t bytes) const;
  Status flush();
  Status sync();     // flushes, and waits for the disk
  Status close();    // flushes; for many drafts, that share a sync_disk_of
  Status publish();  // gives it its name

  int descriptor() const { return file_.get(); }

 private:
  DraftFile(fs::path path, Name name) : path_(std::move(path)), name_(name) {}

  fs::path path_;
  fs::path temp_;  // empty: published, or moved from
  Name name_;
  Descriptor file_;
  std::string buffer_;
};

// A file that is to be written into some folder.
struct File {
  std::string name;
  std::string text;
};

// A folder that is filled beside its place and appears there whole or not at all; removed unless it
// gets there.
class DraftFolder {
 public:
  // Nothing may be at its place but an empty folder. Makes the folders above it, and the files in
  // it, not synced.
  static Result<DraftFolder> create(const fs::path& place, const std::vector<File>& files = {});

  DraftFolder(DraftFolder&& other) noexcept;
  DraftFolder& operator=(DraftFolder&&) = delete;
  ~DraftFolder();

  const fs::path& path() const { return draft_; }
  const fs::path& place() const { return place_; }
  Status sync();     // the files in it are on disk; many drafts share a sync_disk_of instead
  Status publish();  // a rename, as long as nobody else was faster

 private:
  DraftFolder(fs::path place, fs::path draft)
      : place_(std::move(place)), draft_(std::move(draft)) {}
  Status write(const File& file) const;

  fs::path place_;
  fs::path draft_;  // empty: published, or moved from
};

// Whether an entry of a folder is a draft of another.
bool is_draft(const fs::path& entry);

// Removes the draft folders that killed processes left behind.
void remove_dead_drafts(const fs::path& folder);

// What is in a folder, where it matters that none is overlooked: one that cannot be read is an
// error. One that is missing has no entries.
Result<std::vector<fs::path>> entries_if_there(const fs::path& folder);

// All of a file system's data is on disk: one call for many files.
Status sync_disk_of(const fs::path& folder);

}  // namespace orch
