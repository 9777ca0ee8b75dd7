#pragma once

#include "core/app/console.h"
#include "core/show/screen.h"

namespace orch::cli {

show::Screen stdout_screen();

// Answers go to stdout, everything else to stderr. Strings from files and names cannot control the
// terminal: control characters except line breaks, tabs and our own colours are printed as \xNN, in
// pipes too.
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

  // Succeeds if everything was written. A reader that closed the pipe (orch … | head) is not an
  // error.
  Status flush();

 private:
  void write(const std::string& text);

  int output_error_ = 0;     // the first errno of a write to stdout
  bool progressed_ = false;  // a progress line is on the screen
  std::string picture_;      // presently on the screen
};

}  // namespace orch::cli
