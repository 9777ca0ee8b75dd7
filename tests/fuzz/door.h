#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/files.h"

namespace orch::fuzz {

// A file of an input. The name is its path in the room; empty if the input is a single file.
struct InputPart {
  std::string name;
  std::string bytes;
};
using Input = std::vector<InputPart>;

// For an input that is a single file.
inline const std::string& bytes_of(const Input& input) { return input.front().bytes; }

// An input as one file, and back.
std::string pack(const Input& input);
Input unpack(std::string_view bytes);

// A way by which foreign bytes come in. It may return any error of ours; a crash, a hang, unlimited
// memory, a control byte in the output and an exception are findings.
struct Door {
  std::string_view name;
  std::vector<Input> (*seeds)();
  void (*enter)(const Input& input);
};
std::span<const Door> doors();

// A wrong result, though nothing crashed.
class FuzzFinding : public std::runtime_error {
  using runtime_error::runtime_error;
};

// --- for doors ---

inline const fs::path kSource = ORCH_SOURCE_DIR;

// The folder that this process works in and may fill; in memory if possible. orch finds a home
// there, and nothing of the machine: no programs, no user's clusters.
const fs::path& room();
void enter_room();  // once, before the first door; removed with the process
// Empties it, except for entries that begin with "kept", and writes the parts.
void furnish(const Input& input);

// Runs orch with these arguments in the room. Its output is shown when a single input is replayed.
void orch(const std::vector<std::string>& arguments);
inline bool show = false;

// Selects one of `count` ways by the content of the input.
std::size_t choice(const Input& input, std::size_t count);

std::string text_of(const fs::path& file);  // ends the program if it cannot be read
// Seeds of one file each, from those below kSource whose path has this ending.
std::vector<Input> files_as_seeds(std::string_view folder, std::string_view ending);
// All files below a folder, as parts with that prefix.
Input folder_as_seed(const fs::path& folder, const std::string& name);

}  // namespace orch::fuzz
