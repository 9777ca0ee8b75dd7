#pragma once

#include <unistd.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/files.h"

namespace orch::launch {

// What execve takes.
class Words {
 public:
  explicit Words(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (auto& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// All that a child needs to become a program, made before the fork: after it, only plain system
// calls are safe.
struct Program {
  fs::path path;  // absolute
  const Words& words;
  char* const* environment;
  std::array<int, 3> streams;  // its stdin, stdout and stderr
  fs::path directory = ".";    // to work in
};

// A program that we may execute: a path, or looked for in PATH. Empty: none.
fs::path find_program(const std::string& name);
// The same, with a path as it is: whoever starts it hears what is wrong with it.
fs::path program_path(const std::string& name);

// In the child. Of our descriptors it keeps the streams and these; signals are as they are for a
// program that is started by hand. Comes back only on failure: gives what errno is about.
const char* become(const Program& program, std::initializer_list<int> kept = {});

// A child that fails tells errno through a pipe. Of a pipe that is closed without a word 0 is
// heard, of one that is still open after so many seconds none. Our end of it does not block.
bool make_pipe(Descriptor& ours, Descriptor& theirs);
[[noreturn]] void tell_and_leave(int pipe, int code);
std::optional<int> hear(int pipe, double seconds);

// Closes the descriptors from first to last; with CLOSE_RANGE_CLOEXEC, once a program is executed.
// Safe between fork and exec. Kernels before 5.9 have no close_range, those before 5.11 none with
// the flag.
void close_all(unsigned first, unsigned last = ~0U, int flags = 0);

}  // namespace orch::launch
