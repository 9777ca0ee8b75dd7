#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/show/tables/status_words.h"
#include "core/show/tables/words.h"

namespace orch::tables {
namespace {

using record::RunState;
using show::Screen, show::cut, show::paint;

std::string bar(double share, std::size_t width) {
  static constexpr std::string_view kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(share * static_cast<double>(8 * width));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  const bool part = eighths % 8 > 0 && eighths / 8 < width;
  if (part) out += kParts[eighths % 8];
  for (std::size_t i = eighths / 8 + part; i < width; ++i) out += "·";
  return out;
}

std::string_view color_of(const RunStatus& run) {
  switch (run.record.state) {
    case RunState::failed:
      return "31";
    case RunState::finished:
      return "32";
    case RunState::running:
      return run.record.failure == record::Failure::hang ? "31" : "36";
    default:
      return "2";
  }
}

constexpr int kTrouble = 1;

int rank(const RunStatus& run) {
  const auto state = run.record.state;
  if (state == RunState::running) return 0;
  if (state == RunState::failed || state == RunState::stopped) return kTrouble;
  if (state == RunState::finished) return 2;
  return state == RunState::pending ? 3 : 4;
}

std::string pad(const std::string& text, std::size_t width) {
  const auto has = display_width(text);
  return has >= width ? text : text + std::string(width - has, ' ');
}

// The columns for which a line has room.
struct WatchColumns {
  std::size_t width = 200;
  std::size_t name = 46;
  std::size_t bar = 12;
};

WatchColumns columns_of(const Screen& screen, std::size_t widest_name) {
  WatchColumns columns;
  if (screen.width > 0) columns.width = screen.width;
  if (columns.width > 100) columns.name = columns.width / 2;
  if (columns.width < 100) columns.bar = columns.width < 60 ? 4 : 6;
  // The state, the bar, the step and the time left are more important than a long name.
  const std::size_t rest = 1 + 9 + 1 + columns.bar + 1 + (columns.width < 60 ? 8 : 20);
  const auto room = columns.width > rest + 4 ? columns.width - rest : 4;
  columns.name = std::min({columns.name, widest_name, room});
  return columns;
}

// Tokens per second.
std::string rate_text(const RunStatus& run) {
  const auto& rate = run.record.measured.tokens_per_second;
  return rate ? significant(*rate) : "";
}

// The numbers that there is room for, each of them whole, and the reason; of what failed the reason
// goes first.
std::string fitting(std::vector<std::string> numbers, const std::string& reason, bool is_trouble,
                    std::size_t width) {
  std::string out = is_trouble ? cut(reason, width) : "";
  for (const auto& number : numbers) {
    const auto longer = out.empty() ? number : out + "  " + number;
    if (display_width(longer) > width) return out;
    out = longer;
  }
  if (is_trouble || reason.empty()) return out;
  const auto all = out.empty() ? reason : out + "  " + reason;
  return display_width(out) + 4 < width ? cut(all, width) : out;
}

std::string run_line(const RunStatus& run, std::size_t prefix, const WatchColumns& columns,
                     const Screen& screen) {
  std::vector<std::string> parts;
  if (const auto step = step_text(run); !step.empty()) parts.push_back(step);
  if (const auto left = left_text(run); !left.empty()) parts.push_back(left + " left");
  if (const auto rate = rate_text(run); !rate.empty()) parts.push_back(rate + " tok/s");
  if (const auto loss = loss_text(run); !loss.empty()) parts.push_back("loss " + loss);
  if (const auto held_out = evaluation_text(run); !held_out.empty())
    parts.push_back("eval " + held_out);
  if (const auto ratio = ratio_text(run); !ratio.empty())
    parts.push_back("×" + ratio + " of estimate");
  const auto name = pad(cut(id_text(run, prefix), columns.name), columns.name);
  const auto state = pad(state_text(run), 9);
  const std::size_t used = columns.name + 1 + 9 + 1 + columns.bar + 1;
  const auto rest = columns.width > used + 1 ? fitting(std::move(parts), reason_text(run),
                                                       rank(run) == kTrouble, columns.width - used)
                                             : "";
  return fmt::format("{} {} {} {}\n", name, paint(state, color_of(run), screen),
                     bar(share_done(run), columns.bar), rest);
}

}  // namespace

std::string watch_screen(const Standings& standings, const Screen& screen, std::size_t lines) {
  double done = 0;
  std::size_t counted = 0;
  for (const auto& run : standings.runs)
    if (run.record.state != RunState::planned || run.due) {
      done += is_final(run.record.state) ? 1 : share_done(run);
      ++counted;
    }
  const auto share = counted > 0 ? done / static_cast<double>(counted) : 0;
  const auto width = screen.width == 0 ? std::size_t{200} : screen.width;
  std::string out;
  for (const auto& line : split(trim(status_summary(standings)), '\n'))
    out += cut(line, width) + "\n";
  out +=
      fmt::format("{} {:.0f} %\n",
                  bar(share, std::min<std::size_t>(40, width > 16 ? width - 8 : 8)), 100 * share);

  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs)
    if (run.record.state != RunState::planned || run.due) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  const auto prefix = common_prefix(standings.runs);
  std::size_t widest = 10;
  for (const auto* run : runs) widest = std::max(widest, display_width(id_text(*run, prefix)));
  const auto columns = columns_of(screen, widest);
  // One line for the cursor, one for "and more".
  const auto taken = static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')) + 2;
  const auto room = lines > taken ? lines - taken : 0;
  const auto shown =
      lines >= taken && runs.size() == room + 1 ? runs.size() : std::min(runs.size(), room);
  for (std::size_t i = 0; i < shown; ++i) out += run_line(*runs[i], prefix, columns, screen);
  if (runs.size() > shown && lines + 1 > taken)
    out += fmt::format("… and {} more\n", runs.size() - shown);
  return out;
}

}  // namespace orch::tables
