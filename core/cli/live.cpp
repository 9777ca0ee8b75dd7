#include "core/cli/live.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "core/base/terminal.h"
#include "core/base/text.h"
#include "core/cli/commands.h"

namespace orch::cli {
namespace {

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(1) == 1 && !(term && std::string_view(term) == "dumb");
}

struct Size {
  std::size_t columns = 80;
  std::size_t lines = 24;
};

Size terminal_size() {
  winsize size{};
  if (ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, size.ws_row};
}

// What moves the cursor: of ours, and nothing else goes this way.
void steer(const std::string& text) {
  if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string now_text() { return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr))); }

}  // namespace

Live::Live(const tables::Screen& screen) : terminal_(is_terminal()), screen_(screen) {}

void Live::clear() {
  if (lines_ > 0) steer(fmt::format("\033[{}A\033[J", lines_));
  std::fflush(stdout);
  lines_ = 0;
  picture_.clear();
}

void Live::say(const std::string& news) {
  if (!terminal_) {
    print(now_text() + " " + news + "\n");
    std::fflush(stdout);
    return;
  }
  const auto picture = picture_;
  const auto lines = lines_;
  clear();
  print(tables::wrap(printable_lines(news) + "\n", screen_) + picture);
  std::fflush(stdout);
  picture_ = picture;
  lines_ = lines;
}

void Live::show(const tables::Standings& standings) {
  if (!terminal_) {
    const auto lines = tables::changes(before_, standings);
    for (const auto& line : lines) say(line);
    if (!lines.empty())
      say(tables::status_summary(standings).substr(0,
                                                   tables::status_summary(standings).find('\n')));
    before_ = standings;
    return;
  }
  const auto size = terminal_size();
  // A line that fills the last column leaves the cursor on it, and what erases the rest takes it.
  screen_.width = size.columns - 1;
  auto picture = tables::watch_screen(standings, screen_, size.lines);
  if (picture == picture_) return;
  // Drawn over the old one in one write, line by line, so that it does not flicker.
  std::string out;
  if (lines_ > 0) out += fmt::format("\033[{}A", lines_);
  for (const auto& line : split(picture.substr(0, picture.size() - 1), '\n'))
    out += "\r" + printable_lines(line, screen_.color) + "\033[K\n";
  steer(out + "\033[J");
  std::fflush(stdout);
  lines_ = static_cast<std::size_t>(std::count(picture.begin(), picture.end(), '\n'));
  picture_ = std::move(picture);
}

}  // namespace orch::cli
