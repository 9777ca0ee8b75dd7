#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/show/page/columns.h"
#include "core/show/page/parts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using show::Cell, show::Column;

std::optional<double> number_in(const show::Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number ? std::optional(*number) : std::nullopt;
}

bool is_blank(const Cell& cell) { return cell.text.empty() && !number_in(cell.value); }

// A column of the table with the cells of all runs.
struct FilledColumn {
  Column column;
  std::vector<Cell> cells;
  int decimals = 0;  // of all numbers, so that their points align

  bool is_empty() const { return std::ranges::all_of(cells, is_blank); }
  bool is_the_same() const {
    const auto& first = cells.front();
    return cells.size() > 1 && std::ranges::all_of(cells, [&](const Cell& c) {
             return c.text == first.text && c.small == first.small && c.more == first.more &&
                    c.value == first.value;
           });
  }
};

// Number of decimals that shows four digits of the median and two of the smallest value; 0 if all
// values are integers.
int decimals_of(const std::vector<Cell>& cells) {
  std::vector<double> values;
  for (const auto& cell : cells)
    if (const auto value = number_in(cell.value); value && *value != 0)
      values.push_back(std::abs(*value));
  if (std::ranges::all_of(values, [](double v) { return v == std::floor(v); }) &&
      std::ranges::none_of(cells, [](const Cell& c) { return plan::is_given(c.low); }))
    return 0;
  std::sort(values.begin(), values.end());
  const auto digits = [](double v) { return static_cast<int>(std::floor(std::log10(v))); };
  return std::clamp(std::max(3 - digits(values[values.size() / 2]), 1 - digits(values.front())), 0,
                    4);
}

std::string fixed(double value, int decimals) {
  return std::abs(value) < 1e15 ? group_digits(value, decimals) : fmt::format("{:.3e}", value);
}

// A text that opens to more does so without scripts, too.
std::string opening(const Column& column, const Cell& cell) {
  std::string list;
  for (const auto& each : cell.more) list += fmt::format("<p>{}</p>", escape(each));
  return fmt::format("<details class=\"{}\"><summary>{}</summary>{}</details>", column.name,
                     escape(cell.text), list);
}

std::string shown(const FilledColumn& filled, const Cell& cell) {
  std::string out, small;
  if (const auto value = number_in(cell.value); value && cell.text.empty()) {
    out = fixed(*value, filled.decimals);
    if (const auto low = number_in(cell.low), high = number_in(cell.high); low && high)
      small = fixed(*low, filled.decimals) + "–" + fixed(*high, filled.decimals);
  } else {
    out = cell.more.empty() ? escape(cell.text, kLongestName) : opening(filled.column, cell);
    small = escape(cell.small);
  }
  return small.empty() ? out : out + " <small>" + small + "</small>";
}

void head(std::string& out, const Column& column) {
  fmt::format_to(
      std::back_inserter(out), R"(<th scope="col" data-name="{}"{}{}{}{}>{}{}</th>)", column.name,
      column.is_hidden ? " data-detail" : "", column.is_number ? R"( class="number")" : "",
      column.has_choices ? " data-choices" : "",
      column.meaning.empty() ? "" : fmt::format(R"( title="{}")", escape(column.meaning)),
      escape(column.title),
      column.under.empty() ? "" : fmt::format(" <small>{}</small>", escape(column.under)));
}

bool concerns(const record::Doubt& doubt, const Column& column) {
  const auto named = ", " + doubt.field + ", ";
  return std::any_of(column.doubted.begin(), column.doubted.end(), [&](const auto& name) {
    return named.find(", " + name + ", ") != std::string::npos;
  });
}

// A question mark after a value that a doubt concerns.
std::string mark(const record::Record& record, const Column& column) {
  for (const auto& doubt : record.doubts)
    if (concerns(doubt, column))
      return fmt::format(R"( <abbr class="doubt" tabindex="0" title="doubtful: {}">?</abbr>)",
                         escape(doubt.reason, 500));
  return "";
}

// A title with the id of a run made by orch, as its shown name is only the layout.
std::string id_title(const record::Record& record) {
  return run_name(record).hash.empty()
             ? ""
             : fmt::format(R"( title="{}")", escape(record.id, kLongestName));
}

void cell(std::string& out, const record::Record& record, const FilledColumn& filled,
          const Cell& cell) {
  const auto to = std::back_inserter(out);
  const auto& column = filled.column;
  const auto html = shown(filled, cell);
  if (column.name == "run") {
    fmt::format_to(to, R"(<th scope="row"{}>{}</th>)", id_title(record),
                   html.empty() ? "(no name)" : html);
    return;
  }
  out += "<td";
  if (column.is_number) out += R"( class="number")";
  if (const auto value = number_in(cell.value); column.is_number && value)
    fmt::format_to(to, R"( data-v="{}")", *value);
  out += ">" + html;
  if (!html.empty() && !cell.is_computed) out += mark(record, column);
  out += "</td>";
}

// The line that represents each group of repeats: one that counts before one that does not, then
// measured before estimated, then the fastest.
std::set<const PageLine*> leaders_of(const std::vector<PageLine>& lines) {
  const auto key = [](const PageLine& line) {
    const auto& days = line.numbers.best_days();
    return std::tuple(!line.out.empty(), !line.numbers.days.measured, days ? days->value : 1e300);
  };
  std::map<std::size_t, const PageLine*> best;
  for (const auto& line : lines)
    if (const auto [held, is_new] = best.try_emplace(line.alike, &line);
        !is_new && key(line) < key(*held->second))
      held->second = &line;
  std::set<const PageLine*> out;
  for (const auto& [number, line] : best) out.insert(line);
  return out;
}

std::string of_how_many(const std::vector<PageLine>& lines, std::size_t left_out) {
  if (left_out == 0) return "";
  return fmt::format(
      "<p class=\"note\">{} of {} runs are on this page: those that ran, and the best of each "
      "strategy and "
      "size. <code>orch report --format csv</code> lists all.</p>\n",
      group_digits(static_cast<double>(lines.size())),
      group_digits(static_cast<double>(lines.size() + left_out)));
}

// A sentence with the values that all runs share, which need no column.
std::string same(const std::vector<FilledColumn>& columns) {
  std::string out;
  for (const auto& filled : columns)
    out += fmt::format("{}{} <b>{}</b>", out.empty() ? "" : ", ", escape(filled.column.title),
                       shown(filled, filled.cells[0]));
  return out.empty() ? "" : "<p class=\"same\">The same in all runs: " + out + ".</p>\n";
}

}  // namespace

std::string table(const std::vector<PageLine>& lines, const std::vector<Chapters>& chapters,
                  std::size_t left_out) {
  if (lines.empty()) return "";
  std::vector<FilledColumn> columns, common;
  for (auto& column : columns_of(lines)) {
    FilledColumn filled{std::move(column), {}};
    for (std::size_t row = 0; row < lines.size(); ++row)
      filled.cells.push_back(filled.column.cell(row));
    filled.decimals = filled.is_empty() ? 0 : decimals_of(filled.cells);
    if (filled.column.shared && filled.is_the_same() && !filled.is_empty())
      common.push_back(std::move(filled));
    else if (columns.empty() || !filled.is_empty())
      columns.push_back(std::move(filled));
  }
  std::string out = "<section id=\"runs\"><h2>Runs</h2>\n" + of_how_many(lines, left_out) +
                    same(common) +
                    R"(<div id="controls" class="controls"></div>
<p id="shown" role="status" aria-live="polite"></p>
<div class="box" role="region" aria-label="Table of runs" tabindex="0">
<table id="table"><caption class="sr">Runs, with what was measured and what was estimated</caption>
<thead><tr>)";
  for (const auto& filled : columns) head(out, filled.column);
  out += "</tr></thead>\n<tbody>\n";
  const auto leaders = leaders_of(lines);
  for (std::size_t r = 0; r < lines.size(); ++r) {
    out += lines[r].alike == 0 ? "<tr>"
                               : fmt::format("<tr data-alike=\"{}\"{}{}>", lines[r].alike,
                                             lines[r].tied ? " data-tied" : "",
                                             leaders.contains(&lines[r]) ? " data-lead" : "");
    for (const auto& filled : columns) cell(out, *lines[r].record, filled, filled.cells[r]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n" + in_full(lines, chapters) + "</section>\n";
}

}  // namespace orch::page
