// Compares estimates with measurements: each published row is a point, with its error in a panel
// below.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/page.h"
#include "core/show/page/svg.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using published::JudgedSample;

// The rows of one source. Rows whose ids are in `apart` are kept separately and drawn hollow.
struct PublishedSource {
  std::size_t look = 0;
  bool is_hollow = false;
  std::vector<const JudgedSample*> rows = {};
};

// The sources, by the names that the scores use.
std::map<std::string, PublishedSource> sources_of(const std::vector<JudgedSample>& rows,
                                                  const std::set<std::string>& apart) {
  std::map<std::string, std::size_t> places;
  for (const auto& row : rows) places[row.sample->source] = 0;
  std::size_t next = 0;
  for (auto& [source, place] : places) place = next++;
  std::map<std::string, PublishedSource> out;
  for (const auto& row : rows) {
    if (!row.has_time()) continue;
    auto& source = out[published::shown_source(*row.sample, apart)];
    source.look = places[row.sample->source];
    source.is_hollow = apart.contains(row.sample->id);
    source.rows.push_back(&row);
  }
  return out;
}

// An axis of errors in percent. Its ends and ticks are multiples of ten, and it includes zero.
Chart::Axis error_axis(const std::vector<double>& errors) {
  const auto [least, most] = std::ranges::minmax(errors);
  Chart::Axis out{.title = "error in percent",
                  .low = std::min(-20.0, 10 * std::floor(least / 10 - 0.2)),
                  .high = std::max(20.0, 10 * std::ceil(most / 10 + 0.2))};
  const double step = 10 * std::ceil((out.high - out.low) / 110);
  for (double tick = step * std::ceil(out.low / step); tick <= out.high; tick += step)
    out.ticks.emplace_back(tick, tick == 0 ? "0" : fmt::format("{:+g}", tick));
  return out;
}

Chart::Panel error_panel(const Chart::Axis& x, const std::vector<double>& errors) {
  Chart::Panel out{.x = x, .y = error_axis(errors)};
  for (const double error : {-10.0, 10.0})
    out.rules.push_back({.kind = "tenth", .line = {{x.low, error}, {x.high, error}}});
  out.rules.push_back({.kind = "exact", .line = {{x.low, 0}, {x.high, 0}}});
  return out;
}

// Draws each row twice: as a point in the square, and as an error below, which would be too small
// to see in the square.
void add_rows(Chart& chart, const PublishedSource& source) {
  for (const auto* row : source.rows) {
    Chart::Mark mark{.x = *row->sample->step_seconds,
                     .y = row->prediction.step_seconds,
                     .look = source.look,
                     .is_hollow = source.is_hollow,
                     .is_faint = true};
    mark.tooltip = fmt::format("{}: measured {:.4g} s, predicted {:.4g} s, {:+.1f} %",
                               row->sample->id, mark.x, mark.y, row->error());
    chart.panels[0].marks.push_back(mark);
    mark.y = row->error();
    chart.panels[1].marks.push_back(std::move(mark));
  }
}

std::string calibration_text(const std::string& calibrate) {
  const std::map<std::string, std::string> known{
      {"none", "constants as shipped"},
      {"datasheet", "constants from datasheets, nothing fitted"},
      {"first", "one factor from each table's first row"},
      {"loto", "constants fitted without the table (or fifth of a source) that a row is in"},
      {"loso", "constants fitted without the source that a row is in"}};
  const auto found = known.find(calibrate);
  return found == known.end() ? "calibrated: " + calibrate : found->second;
}

}  // namespace

std::string svg(const std::vector<JudgedSample>& rows, const std::set<std::string>& apart,
                const published::Scores& scores, const std::string& calibrate) {
  const auto all = sources_of(rows, apart);
  Chart out{.name = "validation", .title = "Predicted against measured step time"};
  out.finding = calibration_text(calibrate);
  if (all.empty()) out.note = "no row has a step time";
  std::vector<double> values, errors;
  for (const auto& [name, source] : all)
    for (const auto* row : source.rows) {
      values.insert(values.end(), {*row->sample->step_seconds, row->prediction.step_seconds});
      errors.push_back(row->error());
    }
  if (!all.empty()) {
    out.panels.push_back(square_of(values));
    out.panels.push_back(error_panel(out.panels[0].x, errors));
    out.panels[0].x.title.clear();
  }
  for (const auto& [name, source] : all) {
    add_rows(out, source);
    const auto& score = scores.by_source.at(name);
    out.legend.push_back(
        {source.is_hollow ? "hollow series" : "series", source.look, name,
         fmt::format("{}, mean error {:.1f} %", plural(score.n, "row"), score.mape.value_or(0))});
  }
  if (!all.empty()) {
    out.legend.push_back({"exact", 0, "exact"});
    out.legend.push_back({"tenth", 0, "10 % off"});
  }
  return svg_of(out);
}

}  // namespace orch::page
