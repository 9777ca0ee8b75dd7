// Days per 100B tokens by two parameters, as one grid of cells for each strategy and model. A cell
// shows the best run with its two values. The reader can choose the parameters; the page starts
// with the pair whose grids score highest (score_of).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/vocabulary.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostValues = 24;   // a parameter with more is not swept
constexpr std::size_t kLongestSide = 12;  // rows or columns of a grid
constexpr std::size_t kMostGrids = 6;
constexpr std::size_t kMostCells = 4000;             // in all grids together
constexpr std::array kBounds{1.05, 1.25, 1.5, 2.0};  // shades, relative to the best cell

// Fields that are no parameters: they identify the run or follow from other fields.
constexpr std::array<std::string_view, 14> kNone{
    "id",   "strategy", "framework", "nodes", "gpus_per_node", "accumulate",    "seed",
    "name", "job",      "label",     "lr",    "learning_rate", "data_parallel", "tokens"};

// A field in which runs of a series differ. Its values are sorted; of_runs has the index of each
// run's value, or -1.
struct SweptParameter {
  std::string name, meaning;
  std::vector<std::string> values;
  std::vector<int> of_runs;
};

bool varies(const std::vector<const PageLine*>& some, const std::string& name) {
  std::set<std::string> values;
  for (const auto* line : some)
    if (const auto text = line->record->field_text(name); !text.empty()) values.insert(text);
  return values.size() > 1 && values.size() <= kMostValues;
}

// Sorts numbers before strings.
using ValueOrder = std::tuple<bool, double, std::string>;

ValueOrder place_of(const PageLine& line, const std::string& name) {
  const auto number = line.record->field_number(name);
  if (number && std::isfinite(*number)) return {false, *number, shown(*number)};
  return {true, 0, clean(line.record->field_text(name), kLongestName)};
}

SweptParameter parameter_of(const std::vector<PageLine>& lines, const std::string& name) {
  const auto* term = plan::find_term(name);
  SweptParameter out{clean(name, kLongestName),
                     clean(term != nullptr ? std::string(term->meaning) : name, kLongestName),
                     {},
                     {}};
  std::set<ValueOrder> sorted;
  for (const auto& line : lines)
    if (!line.record->field_text(name).empty()) sorted.insert(place_of(line, name));
  for (const auto& value : sorted) out.values.push_back(std::get<2>(value));
  for (const auto& line : lines)
    out.of_runs.push_back(
        line.record->field_text(name).empty()
            ? -1
            : static_cast<int>(std::distance(sorted.begin(), sorted.find(place_of(line, name)))));
  return out;
}

// The swept parameters, in the order of the vocabulary.
std::vector<SweptParameter> swept(const std::vector<PageLine>& lines) {
  std::map<std::string, std::vector<const PageLine*>> series;
  std::vector<const record::Record*> records;
  for (const auto& line : lines) {
    if (line.numbers.best_days()) series[line.series].push_back(&line);
    records.push_back(line.record);
  }
  std::vector<SweptParameter> out;
  for (const auto& name : record::field_names(records))
    if (!contains(kNone, name) && (!plan::is_of_model(name) || name == "seq") &&
        std::ranges::any_of(series, [&](const auto& some) { return varies(some.second, name); }))
      out.push_back(parameter_of(lines, name));
  return out;
}

using CellRuns = std::vector<const PageLine*>;
// The runs of a series, by their values of two parameters.
struct Grid {
  std::string name;
  std::set<int> columns, rows;
  std::map<std::pair<int, int>, CellRuns> cells;  // by row and column
};

bool is_whole(const Grid& grid) {
  const auto fits = [](const std::set<int>& side) {
    return side.size() >= 2 && side.size() <= kLongestSide;
  };
  return fits(grid.columns) && fits(grid.rows) && grid.cells.size() >= 4;
}

// One grid per series and, unless the number of GPUs is an axis, per number of GPUs: days on
// different numbers of GPUs cannot be compared.
std::vector<Grid> grids_of(const ChartRuns& runs, const SweptParameter& x,
                           const SweptParameter& y) {
  const bool by_gpus = runs.differ_in_gpus && x.name != "gpus" && y.name != "gpus";
  std::vector<Grid> out;
  std::map<std::string, std::size_t> places;
  for (const auto* line : runs.ranked) {
    const auto run = static_cast<std::size_t>(line - runs.lines.data());
    const int column = x.of_runs[run], row = y.of_runs[run];
    const bool has_cell = has_days(*line) || (line->gpus > 0 && line->numbers.memory.estimated);
    if (column < 0 || row < 0 || !has_cell) continue;
    const auto name = by_gpus ? line->series + " · " + plural(line->gpus, "GPU") : line->series;
    const auto [place, is_new] = places.try_emplace(name, out.size());
    if (is_new) out.emplace_back().name = name;
    auto& grid = out[place->second];
    grid.columns.insert(column), grid.rows.insert(row);
    grid.cells[{row, column}].push_back(line);
  }
  std::erase_if(out, [](const Grid& grid) { return !is_whole(grid); });
  return out;
}

// Prefers grids with many cells and few gaps.
double score_of(const std::vector<Grid>& grids) {
  double out = 0;
  for (const auto& grid : grids)
    out += std::pow(static_cast<double>(grid.cells.size()), 2) /
           static_cast<double>(grid.columns.size() * grid.rows.size());
  return out;
}

struct ParameterPair {
  const SweptParameter *x = nullptr, *y = nullptr;
  std::vector<Grid> grids;
};

// The pairs of parameters that make a grid, highest score first.
std::vector<ParameterPair> pairs_of(const ChartRuns& runs, const std::vector<SweptParameter>& all) {
  std::vector<ParameterPair> out;
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      if (auto grids = grids_of(runs, all[a], all[b]); !grids.empty())
        out.push_back({&all[a], &all[b], std::move(grids)});
  std::ranges::stable_sort(out, std::greater<>(),
                           [](const ParameterPair& p) { return score_of(p.grids); });
  return out;
}

const PageLine* best_in(const CellRuns& cell) {
  const PageLine* out = nullptr;
  for (const auto* line : cell)
    if (line->out.empty() && has_days(*line) && (!out || days_of(*line) < days_of(*out)))
      out = line;
  return out;
}

// The mark with the days of a cell's best run, or the reason why it has none.
Chart::Mark mark_of_cell(const ChartRuns& runs, const CellRuns& cell, double best,
                         const std::string& place) {
  const auto* line = best_in(cell);
  const auto& shown_line = line != nullptr ? *line : *cell.front();
  Chart::Mark out;
  out.run = static_cast<std::size_t>(&shown_line - runs.lines.data());
  if (line == nullptr) {
    const bool full = std::ranges::all_of(cell, [](const PageLine* each) {
      return each->out.find("fit") != std::string::npos ||
             each->out.find("memory") != std::string::npos;
    });
    out.words = full ? "no fit" : "left out";
    out.tooltip = place + ": " + (shown_line.out.empty() ? "not timed" : shown_line.out);
    return out;
  }
  const double times = days_of(*line) / best;
  out.words = shown(days_of(*line));
  out.shade = static_cast<std::size_t>(
      std::ranges::count_if(kBounds, [&](double bound) { return times > bound; }));
  out.is_best = times == 1;
  out.is_bold = line->numbers.days.measured.has_value();
  out.tooltip = fmt::format("{}: {} days per 100B tokens {}{}, {:.2f} times the best; {}", place,
                            out.words, out.is_bold ? "measured" : "estimated",
                            cell.size() > 1 ? fmt::format(", the best of {}", cell.size()) : "",
                            times, line->name);
  return out;
}

// Returns the panel of a grid. Appends a sentence on its best and worst cell to `said` and its rows
// to `data`.
Chart::Panel grid_panel(const ChartRuns& runs, const Grid& grid, const SweptParameter& x,
                        const SweptParameter& y, std::vector<std::string>& said,
                        show::TextRows& data) {
  Chart::Panel out{.title = grid.name};
  std::map<int, double> column_of, row_of;
  for (const int column : grid.columns) {
    column_of.emplace(column, static_cast<double>(column_of.size()));
    out.x.ticks.emplace_back(column_of[column], x.values[static_cast<std::size_t>(column)]);
  }
  for (const int row : grid.rows) {
    row_of.emplace(row, static_cast<double>(row_of.size()));
    out.rows.push_back({y.values[static_cast<std::size_t>(row)]});
  }
  out.x.low = -0.5, out.x.high = static_cast<double>(grid.columns.size()) - 0.5;
  double best = std::numeric_limits<double>::infinity(), worst = 0;
  for (const auto& [place, cell] : grid.cells)
    if (const auto* line = best_in(cell)) {
      best = std::min(best, days_of(*line));
      worst = std::max(worst, days_of(*line));
    }
  std::string finding = grid.name + ": no run that counts";
  for (const auto& [place, cell] : grid.cells) {
    const auto& row = y.values[static_cast<std::size_t>(place.first)];
    const auto& column = x.values[static_cast<std::size_t>(place.second)];
    auto mark =
        mark_of_cell(runs, cell, best, fmt::format("{} {}, {} {}", x.name, column, y.name, row));
    mark.x = column_of[place.second], mark.y = row_of[place.first];
    if (mark.is_best)
      finding = fmt::format(
          "{} is best with {} {} and {} {}: {} days; the slowest place takes {:.2f} times as long",
          grid.name, x.name, column, y.name, row, mark.words, worst / best);
    data.push_back({grid.name, column, row, mark.words,
                    mark.shade ? shown(days_of(*best_in(cell)) / best) : "",
                    runs.lines[*mark.run].name});
    out.marks.push_back(std::move(mark));
  }
  said.push_back(std::move(finding));
  return out;
}

std::vector<Chart::Sample> sweep_legend(const std::vector<Chart::Panel>& panels) {
  std::vector<Chart::Sample> out;
  for (std::size_t i = 0; i < kBounds.size(); ++i)
    out.push_back({"cell", i, fmt::format("{}to {:g}×", i == 0 ? "best " : "", kBounds[i])});
  out.push_back({"cell", kBounds.size(), "more"});
  const bool any_bold = std::ranges::any_of(panels, [](const Chart::Panel& panel) {
    return std::ranges::any_of(panel.marks, &Chart::Mark::is_bold);
  });
  if (any_bold) out.push_back({"", 0, "bold: measured"});
  return out;
}

Chart sweep_chart_of(const ChartRuns& runs, const std::vector<Grid>& grids, const SweptParameter& x,
                     const SweptParameter& y) {
  Chart out{.kind = Chart::Kind::grid, .name = "sweep", .title = "Days by two parameters"};
  out.answers = {x.name, y.name};
  out.data = {{"Series", x.name, y.name, "Days", "Times the best", "Run"}};
  std::vector<std::string> said;
  for (std::size_t i = 0; i < std::min(grids.size(), kMostGrids); ++i)
    out.panels.push_back(grid_panel(runs, grids[i], x, y, said, out.data));
  said.resize(std::min(said.size(), std::size_t{2}));
  out.finding = join(said, ". ") + ".";
  out.legend = sweep_legend(out.panels);
  out.note = fmt::format(
      "Across: {} ({}); down: {} ({}). A cell has the best run of its place, in days per 100B "
      "tokens.",
      x.name, x.meaning, y.name, y.meaning);
  if (grids.size() > kMostGrids)
    out.note += fmt::format(" Left out: {}.", plural(grids.size() - kMostGrids, "more grid"));
  return out;
}

// True if rows and columns should be swapped, so that the longer side is vertical.
bool is_too_wide(const std::vector<Grid>& grids) {
  std::size_t across = 0, down = 0;
  for (const auto& grid : grids) {
    across = std::max(across, grid.columns.size());
    down = std::max(down, grid.rows.size());
  }
  return across > 6 && down < across;
}

}  // namespace

Chart sweep_chart(const ChartRuns& runs) {
  const auto parameters = swept(runs.lines);
  std::vector<Chart> all;
  std::size_t cells = 0;
  for (const auto& pair : pairs_of(runs, parameters)) {
    if (cells >= kMostCells) break;
    auto one = sweep_chart_of(runs, pair.grids, *pair.x, *pair.y);
    auto other = sweep_chart_of(runs, grids_of(runs, *pair.y, *pair.x), *pair.y, *pair.x);
    for (const auto& panel : one.panels) cells += 2 * panel.marks.size();
    if (is_too_wide(pair.grids)) std::swap(one, other);
    all.push_back(std::move(one));
    all.push_back(std::move(other));
  }
  if (all.empty()) return {};
  auto out = std::move(all.front());
  out.questions = {"Across", "Down"};
  out.others.assign(std::move_iterator(all.begin() + 1), std::move_iterator(all.end()));
  return out;
}

}  // namespace orch::page
