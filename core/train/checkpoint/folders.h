#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace orch::checkpoint {

// checkpoints/
//   step-00000050/             a checkpoint
//   step-00000050.A.writing/   being written by attempt A, or left by it when it was killed
//   step-00000040.removing/    being removed
//   step-00000050.replaced/    the old one while a new one of the same step takes its place: valid
//                              until that is done
struct FolderName {
  std::int64_t step = 0;
  std::string attempt;  // of a folder being written
  enum class Kind { whole, writing, removing, replaced } kind = Kind::whole;
};
std::optional<FolderName> parse_folder_name(std::string_view name);

// A string that identifies an attempt, as a part of a file name.
std::string attempt_token(const std::string& attempt);

fs::path whole_folder(const fs::path& folder, std::int64_t step);
fs::path writing_folder(const fs::path& folder, std::int64_t step, const std::string& token);

// Removes what killed runs left: unfinished checkpoints of other attempts, this attempt's before
// that step, and folders being removed.
void remove_leftovers(const fs::path& folder, std::int64_t step, const std::string& token);

// Renames a complete checkpoint to its final name, synced. At every moment either it or the one
// that it replaces exists.
Status put_in_place(const fs::path& written, const fs::path& folder, std::int64_t step);

// Keeps the newest `keep` valid checkpoints up to `step`. Later ones (from an abandoned
// continuation) and broken ones among those kept are not touched.
void remove_older(const fs::path& folder, std::int64_t step, std::int64_t keep);

void remove_folder(const fs::path& folder);

}  // namespace orch::checkpoint
