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

// Most files here are small; one with more bytes than the limit (or /dev/zero) is a mistake.
inline constexpr std::size_t kLargestFile = std::size_t{64} << 20;
Result<std::string> read_file(const fs::path& path, std::size_t limit = kLargestFile);

// Written beside its place, synced and renamed: the path holds the old or the new text, never half.
Status write_file_atomically(const fs::path& path, std::string_view text);

// What a user asked to have written there: a file as above, with links followed to where they lead,
// that keeps the permissions it had; a device or a pipe is written to.
Status write_output(const fs::path& path, std::string_view text);

// "Permission denied" and its kind, as an Error with a next step.
Error file_error(const fs::path& path, std::string_view doing, int code);

// Whether something is at a path; what cannot be asked is not there.
bool is_there(const fs::path& path);

// What is in a folder, in the order of names and not of the file system; nothing where it cannot be
// read, and why.
std::vector<fs::path> entries_of(const fs::path& folder);
std::vector<fs::path> entries_of(const fs::path& folder, std::error_code& code);

// Removes a file, or a folder with all that is in it; links are removed, not followed. Gives errno
// of what could not be removed, 0 if nothing is left. (std::filesystem::remove_all would do, but
// PyTorch's libraries have an older one of their own: see cmake/torch.cmake.)
int remove_tree(const fs::path& path);

// Gives errno, 0 if all of it was written.
int write_all(int fd, std::string_view bytes);

// Reads so many bytes from there on; fewer only where the file ends. -1: errno says why.
std::ptrdiff_t read_at(int fd, std::uint64_t from, void* to, std::size_t bytes);

// Syncs a folder's own entries, so that a rename in it survives a power cut.
void sync_folder(const fs::path& folder);

}  // namespace orch
