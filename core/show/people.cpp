#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/answer.h"

namespace orch::show {
namespace {

// A column with its cells, the title first.
struct TextCell {
  const Column* column = nullptr;
  std::vector<std::string> texts;

  bool is_blank() const {
    return std::all_of(texts.begin() + 1, texts.end(),
                       [](const auto& text) { return text.empty(); });
  }
  std::size_t width() const {
    std::size_t widest = 0;
    for (const auto& text : texts) widest = std::max(widest, display_width(text));
    return widest;
  }
};

std::vector<std::size_t> rows_shown(const Table& table, const Screen& screen) {
  if (table.first && !screen.markdown) return *table.first;
  std::vector<std::size_t> all(table.rows);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// A value that all rows share: "model 104B".
std::string same_in_all(const Column& column, std::size_t rows) {
  if (!column.shared || rows < 2) return "";
  const auto first = column.cell(0).text;
  for (std::size_t row = 1; row < rows; ++row)
    if (column.cell(row).text != first) return "";
  return first.empty() ? "" : column.title + " " + first;
}

// The columns for people that are not empty; shared values are returned in a list instead.
std::vector<TextCell> filled(const Table& table, const std::vector<std::size_t>& rows,
                             std::vector<std::string>& told) {
  std::vector<TextCell> out;
  for (const auto& column : table.columns) {
    if (column.title.empty()) continue;
    if (auto same = same_in_all(column, table.rows); !same.empty()) {
      told.push_back(printable(same));
      continue;
    }
    TextCell each{&column, {column.title}};
    for (const auto row : rows) each.texts.push_back(printable(column.cell(row).text));
    if (!each.is_blank()) out.push_back(std::move(each));
  }
  return out;
}

// Drops columns until the screen has room, where a column that can be cut gets two fifths of the
// width.
void leave_out(std::vector<TextCell>& columns, const Screen& screen) {
  const auto rank = [](const TextCell& filled) { return filled.column->rank; };
  const auto width = [&] {
    std::size_t sum = 0;
    for (const auto& each : columns) {
      const auto own =
          each.column->gives_way ? std::min(each.width(), 2 * screen.width / 5) : each.width();
      sum += rank(each) == kBelow ? 0 : own + 2;
    }
    return sum;
  };
  while (screen.width > 0 && width() > screen.width + 2) {
    const auto least = std::ranges::max_element(columns, {}, rank);
    if (rank(*least) <= 0) break;
    columns.erase(least);
  }
}

TextRows rows_of(std::vector<TextCell> columns) {
  TextRows rows(columns.empty() ? 0 : columns[0].texts.size());
  for (auto& column : columns)
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(std::move(column.texts[r]));
  return rows;
}

void shorten(std::vector<TextCell>& columns, const Screen& screen) {
  const auto width = width_of(rows_of(columns));
  if (screen.width == 0 || width <= screen.width) return;
  for (auto& each : columns) {
    if (!each.column->gives_way) continue;
    const auto widest = each.width(), excess = width - screen.width;
    const auto room = std::max<std::size_t>(8, widest > excess ? widest - excess : 0);
    for (auto& text : each.texts) text = cut(text, room);
  }
}

// "no room here for: TP, PP (--format md has all columns)".
std::string left_out_text(const TextRows& all, const std::vector<TextCell>& shown) {
  std::vector<std::string> missing;
  for (const auto& title : all.front())
    if (std::ranges::none_of(shown,
                             [&](const TextCell& each) { return each.column->title == title; }))
      missing.push_back(title);
  return missing.empty()
             ? ""
             : "no room here for: " + join(missing, ", ") + " (--format md has all columns)\n";
}

std::string_view code(Mark mark) {
  return mark == Mark::good ? "32" : mark == Mark::warning ? "33" : mark == Mark::bad ? "31" : "0";
}

// A line between rows, unless a row continues below itself.
std::string colored(const std::string& text, const Table& table,
                    const std::vector<std::size_t>& rows, const Screen& screen) {
  const auto lines = split(text, '\n');
  if (!screen.color || !table.mark || lines.size() != rows.size() + 2) return text;
  std::string out = lines.front() + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto mark = table.mark(rows[i]);
    out += mark == Mark::none ? lines[i + 1] : paint(lines[i + 1], code(mark), screen);
    out += "\n";
  }
  return out;
}

std::string paragraphs(const std::string& lines, const Screen& screen) {
  if (lines.empty() || !screen.markdown)
    return wrap(lines.empty() || lines.ends_with('\n') ? lines : lines + "\n", screen);
  std::string out;
  for (const auto& line :
       split(lines.ends_with('\n') ? lines.substr(0, lines.size() - 1) : lines, '\n'))
    out += line.starts_with(' ') ? "- " + markdown_text(trim(line)) + "\n"
                                 : (out.empty() ? "" : "\n") + markdown_text(line) + "\n";
  return out;
}

std::string label(const Finding& finding) {
  return finding.kind == "answer"   ? "Answer: "
         : finding.kind == "sure"   ? "How sure: "
         : finding.kind == "nearby" ? "Not listed: "
                                    : "";
}

std::string text(const Findings& findings, const Screen& screen) {
  std::string out =
      findings.title.empty() || findings.list.empty() ? "" : heading(findings.title, screen);
  for (const auto& each : findings.list) {
    if (each.text.empty()) continue;
    const auto said = label(each) + each.text + (each.text.ends_with('\n') ? "" : "\n");
    out +=
        each.mark == Mark::none || screen.markdown
            ? paragraphs(said, screen)
            : paint(trim(wrap(said, screen)), each.mark == Mark::bad ? "31" : "1", screen) + "\n";
  }
  return out;
}

// A chart is drawn only on a page; here its finding is printed.
std::string text(const Chart& chart, const Screen& screen) {
  return chart.finding.empty() ? ""
                               : heading(chart.title, screen) + paragraphs(chart.finding, screen);
}

std::string text(const Details& details, const Screen& screen) {
  if (details.title.empty()) return "";
  auto out = heading(details.title, screen);
  for (const auto& [name, value] : details.pairs)
    out += paragraphs(
        (screen.markdown ? "" : "  ") + name + ": " + printable(plan::plain(value)) + "\n", screen);
  return out;
}

}  // namespace

Table for_programs(Table table) {
  table.title.clear(), table.above.clear(), table.below.clear();
  for (auto& column : table.columns) column.title.clear();
  return table;
}

Table for_people(Table table) {
  table.name.clear();
  return table;
}

Table table_of(std::string title, TextRows rows) {
  Table out{{}, std::move(title)};
  if (rows.empty()) return out;
  const auto held = std::make_shared<const TextRows>(std::move(rows));
  out.rows = held->size() - 1;
  for (std::size_t c = 0; c < held->front().size(); ++c) {
    const auto& head = held->front()[c];
    out.columns.push_back({{}, head.empty() ? " " : head, 0, [held, c](std::size_t row) -> Cell {
                             return (*held)[row + 1][c];
                           }});
  }
  return out;
}

std::string text(const Table& table, const Screen& screen) {
  const auto rows = rows_shown(table, screen);
  std::vector<std::string> told;
  auto columns = filled(table, rows, told);
  std::string above;
  if (!told.empty()) above = "all runs: " + join(told, ", ") + "\n";
  for (const auto& line : table.above) above += line + "\n";
  auto out = table.title.empty() ? std::string() : heading(table.title, screen);
  if (!above.empty())
    out += paragraphs(above, screen) + (screen.markdown && !columns.empty() ? "\n" : "");
  if (columns.empty()) return out + paragraphs(table.below, screen);
  const auto all = rows_of(columns);
  if (!screen.markdown) leave_out(columns, screen);
  const auto missing = left_out_text(all, columns);
  if (!screen.markdown) shorten(columns, screen);
  out += colored(grid(rows_of(columns), screen), table, rows, screen) + wrap(missing, screen);
  if (rows.size() < table.rows)
    out += fmt::format("… and {} {} (--top 0 shows all)\n",
                       group_digits(static_cast<double>(table.rows - rows.size())), table.others);
  return out + (screen.markdown && !table.below.empty() ? "\n" : "") +
         paragraphs(table.below, screen);
}

static std::string title_text(const std::string& title, const Screen& screen) {
  if (title.empty()) return "";
  const auto end = std::min(title.find('\n'), title.size());
  const auto first = title.substr(0, end), rest = std::string(trim(title.substr(end)));
  const auto more = rest.empty() ? "" : paragraphs(title.substr(end + 1), screen);
  if (screen.markdown)
    return "# " + markdown_text(first) + "\n" + (more.empty() ? "" : "\n") + more;
  return paint(trim(wrap(first + "\n", screen)), "1", screen) + "\n" + more;
}

std::string text(const Answer& answer, const Screen& screen) {
  auto out = title_text(answer.title, screen);
  for (const auto& section : answer.sections) {
    const auto more = std::visit([&](const auto& each) { return text(each, screen); }, section);
    if (!more.empty()) out += (out.empty() ? "" : "\n") + more;
  }
  return out;
}

}  // namespace orch::show
