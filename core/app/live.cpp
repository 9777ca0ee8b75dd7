#include "core/app/live.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "core/base/terminal.h"

namespace orch::app {

void Live::say(const std::string& news) {
  if (console_.canvas()) return console_.print(tables::wrap(printable_lines(news) + "\n", screen_));
  console_.print(fmt::format("{:%H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), news));
}

void Live::show(const tables::Standings& standings) {
  if (const auto size = console_.canvas()) {
    // A line that fills the last column leaves the cursor on it, and what erases the rest takes it.
    screen_.width = size->columns - 1;
    return console_.draw(tables::watch_screen(standings, screen_, size->lines));
  }
  const auto lines = tables::changes(before_, standings);
  for (const auto& line : lines) say(line);
  const auto summary = tables::status_summary(standings);
  if (!lines.empty()) say(summary.substr(0, summary.find('\n')));
  before_ = standings;
}

}  // namespace orch::app
