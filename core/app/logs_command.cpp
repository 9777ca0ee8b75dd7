#include <fmt/format.h>

#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/base/clock.h"
#include "core/base/terminal.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/run/store/run_folder.h"

namespace orch::app {
namespace {

// The number of the requested attempt, or of the last one.
Result<int> attempt_of(const fs::path& folder, int asked) {
  const auto attempts = store::read_attempts(folder);
  if (!attempts) return attempts.error();
  const auto place = printable(folder.filename().string());
  if (attempts->empty())
    return Error{place, "has not started", "orch status shows what it waits for"};
  if (asked == 0) return attempts->back().number;
  for (const auto& attempt : *attempts)
    if (attempt.number == asked) return asked;
  return Error{place, fmt::format("has no attempt {}", asked),
               fmt::format("there are {}", attempts->size())};
}

// Treats a carriage return as a line end, because progress bars use it. (Other control characters
// are printed as \xNN, as everywhere in orch: also in a pipe, because it mostly ends at a
// terminal.)
std::string with_lines(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r')
      out += text[i];
    else if (i + 1 < text.size() && text[i + 1] != '\n')
      out += '\n';
  return printable_lines(out);
}

// True if the attempt's end is recorded, or another attempt has begun.
bool is_over(const fs::path& folder, int attempt) {
  const auto attempts = store::read_attempts(folder, attempt);
  if (!attempts || attempts->empty()) return false;
  return attempts->size() > 1 || attempts->front().state != "running";
}

}  // namespace

Ending logs_command(const LogsArguments& arguments, Console& console) {
  const auto folder = find_run(arguments.run, arguments.runs);
  if (!folder) return folder.error();
  const auto attempt = attempt_of(*folder, arguments.attempt);
  if (!attempt) return attempt.error();
  const auto file = *folder / "attempts" / std::to_string(*attempt) / "stdout.log";
  const auto lines = static_cast<std::int64_t>(arguments.lines);
  events::LogTail tail(file, lines == 0 ? -1 : lines);
  std::string rest;  // an incomplete line
  SystemClock clock;
  for (bool over = false; !interrupted();) {
    const auto chunk = tail.next();
    rest += chunk.text;
    const auto whole = over && !chunk.more ? rest.size() : rest.rfind('\n') + 1;
    const auto text = rest.substr(0, whole);
    rest.erase(0, whole);
    console.print(
        with_lines(arguments.rank < 0 ? text : events::lines_of_rank(text, arguments.rank)));
    if (chunk.more) continue;
    if (over) return Exit::ok;
    over = !arguments.follow || is_over(*folder, *attempt);
    if (!over) clock.sleep(0.3);
  }
  return Exit::interrupted;
}

}  // namespace orch::app
