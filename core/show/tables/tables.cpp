#include <fmt/format.h>
#include <fmt/ranges.h>  // join, where fmt is newer

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/record/planned.h"
#include "core/show/tables/columns.h"
#include "core/show/tables/ranking.h"
#include "core/show/tables/report.h"

namespace orch::tables {
namespace {

using plan::Planned;
using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::vector<const Column*>& shown, const std::vector<const Planned*>& runs) {
  Rows rows(1);
  for (const auto* column : shown) rows.front().push_back(column->title);
  for (const auto* run : runs) {
    auto& row = rows.emplace_back();
    for (const auto* column : shown) row.push_back(column->text(*run));
  }
  return rows;
}

std::size_t width_of(const Rows& rows) {
  std::size_t widest = 0;
  const auto text = grid(rows, {});
  for (const auto& line : split(text, '\n')) widest = std::max(widest, display_width(line));
  return widest;
}

// The strategy's column gives way when nothing else can be left out.
void shorten_strategy(Rows& rows, const Screen& screen) {
  const auto width = width_of(rows);
  if (screen.width == 0 || width <= screen.width) return;
  const auto& titles = rows.front();
  const auto c =
      static_cast<std::size_t>(std::find(titles.begin(), titles.end(), kStrategy) - titles.begin());
  std::size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, display_width(row[c]));
  const auto excess = width - screen.width;
  const auto room = std::max<std::size_t>(8, widest > excess ? widest - excess : 0);
  for (auto& row : rows) row[c] = cut(row[c], room);
}

// Leaves out the least important column until the rest fits the screen.
Rows fit_rows(std::vector<const Column*> shown, const std::vector<const Planned*>& runs,
              const Screen& screen) {
  auto rows = rows_of(shown, runs);
  while (screen.width > 0 && width_of(rows) > screen.width) {
    const auto least = std::max_element(shown.begin(), shown.end(),
                                        [](auto* a, auto* b) { return a->rank < b->rank; });
    if ((*least)->rank == 0) break;
    shown.erase(least);
    rows = rows_of(shown, runs);
  }
  shorten_strategy(rows, screen);
  return rows;
}

std::string_view fit_color(plan::Fit fit) {
  return fit == plan::Fit::oom ? "31" : fit == plan::Fit::tight ? "33" : "0";
}

std::string colored(const std::string& text, const std::vector<const Planned*>& runs,
                    const Screen& screen) {
  if (!screen.color) return text;
  const auto lines = split(text, '\n');
  std::string out = lines.front() + "\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool best = i == 0 && runs[i]->estimate.fit != plan::Fit::oom;
    out += paint(lines[i + 1], best ? "32" : fit_color(runs[i]->estimate.fit), screen) + "\n";
  }
  return out;
}

}  // namespace

std::optional<Format> parse_format(std::string_view text) {
  if (text == "table") return Format::table;
  if (text == "md") return Format::md;
  if (text == "csv") return Format::csv;
  if (text == "json") return Format::json;
  return std::nullopt;
}

std::string table(const RankedRuns& result, const Screen& screen, std::size_t top) {
  if (result.runs.empty()) return "";
  std::vector<const Planned*> runs;
  for (const auto& group : size_groups(result))
    for (std::size_t i = 0; i < group.count && (top == 0 || i < top); ++i)
      runs.push_back(result.runs[group.first + i]);
  const auto common = common_settings(result.runs);
  const auto all = columns(result, common);
  const auto split = split_columns(all, result.runs);
  std::string out;
  if (!split.common.empty()) out += wrap("all runs: " + join(split.common, ", ") + "\n", screen);
  for (const auto& [strategy, settings] : common)
    if (!settings.empty())
      out += wrap(fmt::format("all {}: {}\n", strategy, fmt::join(settings, " ")), screen);
  out += colored(grid(fit_rows(split.varying, runs, screen), {0, screen.color}), runs, screen);
  if (runs.size() < result.runs.size())
    out += fmt::format("… and {} slower ones (--top 0 shows all)\n",
                       group_digits(static_cast<double>(result.runs.size() - runs.size())));
  return out;
}

std::string markdown(const RankedRuns& result) {
  if (result.runs.empty()) return "";
  const auto all = columns(result, {});
  std::vector<const Column*> shown;
  for (const auto& column : all) shown.push_back(&column);
  return grid_markdown(rows_of(shown, result.runs));
}

namespace {

CsvCell cell(const plan::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

constexpr int kDigits = 10;

// Bytes are whole.
CsvCell cell(const record::Quantity& quantity, std::optional<double> value) {
  const bool bytes = quantity.unit == record::Dimension::memory ||
                     quantity.unit == record::Dimension::traffic;
  if (value && bytes) return fmt::format("{:.0f}", *value);
  return {value, kDigits};
}

}  // namespace

std::string csv_header() {
  std::string out = "rank,tie";
  for (const auto& term : plan::vocabulary()) {
    if (term.read) out += fmt::format(",{}", term.name);
    if (term.name == kStrategy) out += ",variant";
  }
  out += ",fit";
  for (const auto& quantity : record::quantities()) {
    if (!quantity.estimated) continue;
    out += fmt::format(",{}", quantity.name);
    if (!quantity.range.empty()) out += fmt::format(",{0}_low,{0}_high", quantity.range);
  }
  return out;
}

std::vector<std::vector<CsvCell>> csv_rows(const RankedRuns& result) {
  std::vector<std::vector<CsvCell>> rows;
  const auto places = ranks(result);
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const auto& [place, tie] = places[i];
    const auto& planned = *result.runs[i];
    auto& row =
        rows.emplace_back(std::vector<CsvCell>{place == 0 ? CsvCell() : CsvCell(place), tie});
    for (const auto& term : plan::vocabulary()) {
      if (term.read) row.push_back(cell(term.read(planned.run)));
      if (term.name == kStrategy) row.emplace_back(plan::variant(planned.run));
    }
    row.emplace_back(name(planned.estimate.fit));
    for (const auto& quantity : record::quantities()) {
      if (!quantity.estimated) continue;
      const auto value = record::estimated(quantity, planned);
      row.push_back(cell(quantity, value ? std::optional(value->value) : std::nullopt));
      if (quantity.range.empty()) continue;
      row.push_back(cell(quantity, value ? value->low : std::nullopt));
      row.push_back(cell(quantity, value ? value->high : std::nullopt));
    }
  }
  return rows;
}

std::string csv(const RankedRuns& result) {
  CsvWriter out(csv_header());
  for (const auto& row : csv_rows(result)) out.row(row);
  return out.text();
}

}  // namespace orch::tables
