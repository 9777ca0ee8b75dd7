#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orch::ingest {

// Tracks which objects of a nested dump are open: `"vision_config": {`, `model=ModelConfig(`. A
// dump is indented, so a line without indentation that closes nothing ends it.
class Nesting {
 public:
  // Opens and closes what the next line does.
  void take(std::string_view line);

 private:
  friend class NestingPlace;
  // From a position of a text to another one.
  static void walk(std::string_view text, std::size_t from, std::size_t to,
                   std::vector<std::string>& open);

  std::vector<std::string> open_;  // names, the outermost first; "": an unnamed object
};

// A place in the next line, which is taken afterwards. It only moves on, so that a long line is
// walked through once.
class NestingPlace {
 public:
  NestingPlace(const Nesting& before, std::string_view line) : line_(line), open_(before.open_) {}
  // Whether the place is in an object with one of these names.
  bool is_in(std::size_t at, const std::vector<std::string>& names);

 private:
  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
};

}  // namespace orch::ingest
