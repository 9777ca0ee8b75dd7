#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/result.h"

namespace orch {

namespace fs = std::filesystem;

// Most files here are small; a file larger than this limit (or /dev/zero) is a mistake.
inline constexpr std::size_t kLargestFile = std::size_t{64} << 20;
Result<std::string> read_file(const fs::path& path, std::size_t limit = kLargestFile);

// Writes the file beside its path, syncs it and renames it: the path holds the old or the new text,
// never half.
Status write_file_atomically(const fs::path& path, std::string_view text);

// Writes a file that a user asked for: as above, but links are followed and the permissions are
// kept; a device or a pipe is written to directly.
Status write_output(const fs::path& path, std::string_view text);

// "Permission denied" and the like, as an Error with a next step.
Error file_error(const fs::path& path, std::string_view doing, int code);

// True if something exists at the path; false also where that cannot be determined.
bool is_there(const fs::path& path);

// The entries of a folder, sorted by name and not in the order of the file system; empty where it
// cannot be read, with the reason in code.
std::vector<fs::path> entries_of(const fs::path& folder);
std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& code);

// Removes a file, or a folder with all that is in it; links are removed, not followed. Returns
// errno of what could not be removed, 0 if nothing is left. (std::filesystem::remove_all cannot be
// used, because PyTorch's libraries contain an older version of it: see cmake/torch.cmake.)
int remove_tree(const fs::path& path);

// Returns errno, 0 if all of it was written.
int write_all(int fd, std::string_view bytes);

// Reads `bytes` bytes from there on; fewer only where the file ends. -1: errno has the reason.
std::ptrdiff_t read_at(int fd, std::uint64_t from, void* to, std::size_t bytes);

// Syncs a folder's own entries, so that a rename in it survives a power cut.
void sync_folder(const fs::path& folder);

}  // namespace orch
