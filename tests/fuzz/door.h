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

// A file of an input. The name is a path in the room; where an input is one file it is empty.
struct Part {
  std::string name;
  std::string bytes;
};
using Input = std::vector<Part>;

// Of an input that is one file.
inline const std::string& bytes_of(const Input& input) { return input.front().bytes; }

// An input as one file, and back.
std::string pack(const Input& input);
Input unpack(std::string_view bytes);

// A way by which bytes of somebody else come in. Going through it may give any error of ours; a
// crash, a hang, memory without end, a control byte in what is said and an exception are findings.
struct Door {
  std::string_view name;
  std::vector<Input> (*seeds)();
  void (*enter)(const Input& input);
};
std::span<const Door> doors();

// What is not as it should be, though nothing crashed.
class Finding : public std::runtime_error {
  using runtime_error::runtime_error;
};

// --- for doors ---

inline const fs::path kSource = ORCH_SOURCE_DIR;

// The folder that this process works in, and may fill; in memory where that is possible. orch finds
// a home there, and nothing of the machine: no programs, no clusters of one's own.
const fs::path& room();
void enter_room();  // once, before the first door; ends with the process
// Empties it, but for what begins with "kept", and writes the parts.
void furnish(const Input& input);

// orch with these arguments, in the room. What it says is shown to who looks at one input.
void orch(const std::vector<std::string>& arguments);
inline bool show = false;

// One of so many, by what is in the input: which way it goes on.
std::size_t choice(const Input& input, std::size_t count);

std::string text_of(const fs::path& file);  // ends the program where it cannot be read
// Seeds of one file each, from those below kSource whose path ends so.
std::vector<Input> files_as_seeds(std::string_view folder, std::string_view ending);
// All files below a folder, as parts with that name before theirs.
Input folder_as_seed(const fs::path& folder, const std::string& name);

}  // namespace orch::fuzz
