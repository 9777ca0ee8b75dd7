#pragma once

#include "core/app/console.h"
#include "core/show/screen.h"

namespace orch::cli {

show::Screen stdout_screen();

// stdout for the answer, stderr for the rest. What files and names brought into a string cannot
// steer a terminal: control characters but line breaks, tabs and our own colours are shown as \xNN,
// in pipes too.
class Terminal : public app::Console {
 public:
  void print(const std::string& text) override;
  void note(const std::string& text) override;
  void complain(const Errors& errors) override;
  void progress(const std::string& line) override;
  bool can_ask() const override;
  bool confirm(const std::string& question) override;
  std::optional<Size> canvas() const override;
  void draw(const std::string& picture) override;

  // All is written; else why not. A reader that went away (orch … | head) is no error of ours.
  Status flush();

 private:
  void write(const std::string& text);

  int output_error_ = 0;     // the first errno of a write to stdout
  bool progressed_ = false;  // there is a line of progress
  std::string picture_;      // on the screen
};

}  // namespace orch::cli
