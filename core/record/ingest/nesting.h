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
  // Whether a position of a line is inside an object with one of these names. The line itself is
  // taken afterwards.
  bool is_in(std::string_view line, std::size_t at, const std::vector<std::string>& names) const;

 private:
  static void walk(std::string_view text, std::vector<std::string>& open);

  std::vector<std::string> open_;  // names, the outermost first; "": an unnamed object
};

}  // namespace orch::ingest
