#pragma once

#include <string>

#include "core/app/console.h"
#include "core/show/tables/status.h"

namespace orch::app {

// What is seen of runs as they go: a picture where there is a place for one, a line for each change
// elsewhere. News come above the picture.
class Live {
 public:
  Live(const tables::Screen& screen, Console& console) : screen_(screen), console_(console) {}
  ~Live() { console_.draw(""); }

  void show(const tables::Standings& standings);
  void say(const std::string& news);

 private:
  tables::Screen screen_;
  Console& console_;
  tables::Standings before_;
};

}  // namespace orch::app
