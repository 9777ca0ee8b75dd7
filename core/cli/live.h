#pragma once

#include <string>
#include <vector>

#include "core/show/tables/status.h"

namespace orch::cli {

// What is seen of runs as they go: a picture that is drawn over itself on a terminal, a line for
// each change elsewhere. News come above the picture.
class Live {
 public:
  explicit Live(const tables::Screen& screen);
  ~Live() { clear(); }

  void show(const tables::Standings& standings);
  void say(const std::string& news);
  void clear();  // takes the picture away

 private:
  bool terminal_;
  tables::Screen screen_;
  std::size_t lines_ = 0;  // of the picture that is on the screen
  std::string picture_;
  tables::Standings before_;
};

}  // namespace orch::cli
