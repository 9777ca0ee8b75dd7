#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orch::ingest {

// Tracks which objects of a nested dump are open: `"vision_config": {`, `model=ModelConfig(`. A
// dump is indented, so it ends at a line that has no indentation and closes no object.
class Nesting {
 public:
  // Opens and closes the objects that the next line opens and closes.
  void take(std::string_view line);

 private:
  friend class NestingPlace;
  // Applies the brackets of the text between two positions.
  static void walk(std::string_view text, std::size_t from, std::size_t to,
                   std::vector<std::string>& open);

  std::vector<std::string> open_;  // names, the outermost first; "": an unnamed object
};

// A position in the next line, before Nesting takes that line. It only moves forward, so a long
// line is read once.
class NestingPlace {
 public:
  NestingPlace(const Nesting& before, std::string_view line) : line_(line), open_(before.open_) {}
  // Moves to the position `at`. True if it is in an object with one of these names.
  bool is_in(std::size_t at, const std::vector<std::string>& names);

 private:
  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
};

}  // namespace orch::ingest
