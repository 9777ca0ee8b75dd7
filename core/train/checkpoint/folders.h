#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace orch::checkpoint {

// checkpoints/
//   step-00000050/             a checkpoint
//   step-00000050.A.writing/   one that attempt A is writing, or was when it was killed
//   step-00000040.removing/    one that is going away
//   step-00000050.replaced/    the old one while a new one of the same step takes its place: until
//                              that is there it counts
struct FolderName {
  std::int64_t step = 0;
  std::string attempt;  // of one being written
  enum class Kind { whole, writing, removing, replaced } kind = Kind::whole;
};
std::optional<FolderName> parse_folder_name(std::string_view name);

// A text that tells an attempt from all others, as a part of a name.
std::string attempt_token(const std::string& attempt);

fs::path whole_folder(const fs::path& folder, std::int64_t step);
fs::path writing_folder(const fs::path& folder, std::int64_t step, const std::string& token);

// What killed runs left behind: other attempts' unfinished ones, this one's before that step, and
// what was going away.
void remove_leftovers(const fs::path& folder, std::int64_t step, const std::string& token);

// Puts a whole one in its place, synced. At every moment it or the one it replaces is there.
Status put_in_place(const fs::path& written, const fs::path& folder, std::int64_t step);

// Keeps the newest `keep` checkpoints up to `step`, counting only those that can be opened. Later
// ones (of a future that was given up) and broken ones among those kept are left alone.
void remove_older(const fs::path& folder, std::int64_t step, std::int64_t keep);

void remove_folder(const fs::path& folder);

}  // namespace orch::checkpoint
