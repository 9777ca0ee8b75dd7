#include "core/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "core/base/files.h"
#include "core/base/terminal.h"
#include "core/base/text.h"

namespace orch::cli {
namespace {

bool is_terminal(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) == 1 && !(term && std::string_view(term) == "dumb");
}

bool wants_color(int descriptor) {
  const char* plain = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && !(plain && *plain);
}

}  // namespace

show::Screen stdout_screen() {
  show::Screen screen;
  winsize size{};
  if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0) screen.width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"))
    screen.width = std::strtoul(columns, nullptr, 10);
  // Tables are unreadable in fewer columns; the terminal may cut them.
  if (screen.width > 0) screen.width = std::max<std::size_t>(screen.width, 40);
  screen.color = wants_color(1);
  return screen;
}

// Flushed at once: if stdout and stderr are one file, their order must be right.
void Terminal::write(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!written || std::fflush(stdout) != 0) && output_error_ == 0) output_error_ = errno;
}

void Terminal::print(const std::string& text) {
  const auto picture = picture_;
  draw("");
  write(printable_lines(text, wants_color(1)));
  draw(picture);
}

void Terminal::note(const std::string& text) {
  const auto shown = printable_lines(text, wants_color(2));
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void Terminal::complain(const Errors& errors) {
  constexpr std::size_t kMost = 50;  // a user needs no more errors to find the reason
  const show::Screen screen{0, wants_color(2)};
  for (std::size_t i = 0; i < std::min(errors.size(), kMost); ++i)
    note(show::paint("error:", "31", screen) + " " + printable_lines(errors[i].text()) + "\n");
  if (errors.size() > kMost) note(fmt::format("… and {} more errors\n", errors.size() - kMost));
}

void Terminal::progress(const std::string& line) {
  if (isatty(2) == 0 || (line.empty() && !progressed_)) return;
  std::fputs(("\r" + printable_lines(line) + "\033[K").c_str(), stderr);
  progressed_ = !line.empty();
}

bool Terminal::can_ask() const { return isatty(0) != 0 && isatty(2) != 0; }

bool Terminal::confirm(const std::string& question) {
  if (!can_ask()) {
    note(question + "\nnothing was done: no terminal to ask on; -y submits without asking\n");
    return false;
  }
  note(question + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  const bool yes = answer == "y" || answer == "Y" || answer == "yes";
  if (!yes) note("nothing was done\n");
  return yes;
}

std::optional<app::Console::Size> Terminal::canvas() const {
  if (!is_terminal(1)) return std::nullopt;
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return Size();
  return Size{size.ws_col, size.ws_row};
}

// Drawn over the old picture in one write, line by line, without flicker.
void Terminal::draw(const std::string& picture) {
  if (picture == picture_) return;
  std::string out;
  if (const auto lines = std::count(picture_.begin(), picture_.end(), '\n'); lines > 0)
    out += fmt::format("\033[{}A", lines);
  if (!picture.empty())
    for (const auto& line : split(picture.substr(0, picture.size() - 1), '\n'))
      out += "\r" + printable_lines(line, wants_color(1)) + "\033[K\n";
  write(out + "\033[J");
  picture_ = picture;
}

Status Terminal::flush() {
  if (std::fflush(stdout) != 0 && output_error_ == 0) output_error_ = errno;
  if (output_error_ == 0 || output_error_ == EPIPE) return {};
  return file_error("stdout", "cannot write all of the output", output_error_);
}

}  // namespace orch::cli
