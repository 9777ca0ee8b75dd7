#pragma once

#include <string>
#include <vector>

#include "core/report/status.h"

namespace orch::cli {

// What is seen of runs as they go: a picture that is drawn over itself on a terminal, a line for
// each change elsewhere. News come above the picture.
class Live {
 public:
  explicit Live(const report::Screen& screen);
  ~Live() { clear(); }

  void show(const report::Standings& standings);
  void say(const std::string& news);
  void clear();  // takes the picture away

 private:
  bool terminal_;
  report::Screen screen_;
  std::size_t lines_ = 0;  // of the picture that is on the screen
  std::string picture_;
  report::Standings before_;
};

}  // namespace orch::cli
