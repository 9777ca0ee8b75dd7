#include "core/show/page/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/record/record.h"
#include "core/record/statistics/interval.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::Measurement;

constexpr std::size_t kMostCurves = 8;

bool has_course(const Measurement& measured) {
  return measured.losses.size() > 1 || measured.step_times.size() > 1 ||
         measured.peaks.size() > 1 || measured.gpu_watts.size() > 1 || measured.gpu_use.size() > 1;
}

// Logarithmic for a wide range, whose low end would be flat on a linear scale.
Chart::Axis level_axis(const std::string& title, const std::vector<PlottedCurve>& curves,
                       double highest) {
  std::vector<double> values;
  for (const auto& curve : curves)
    for (const auto& [x, y] : curve.points) values.push_back(std::min(y, highest));
  const auto [low, high] = std::ranges::minmax(values);
  if (low > 0 && high > 3 * low) return log_axis(title, values);
  const double room = high > low ? 0.04 * (high - low) : std::abs(high) * 0.05 + 1e-9;
  return linear_axis(title, low - room, high + room);
}

Chart::Axis along_axis(const std::string& title, const std::vector<PlottedCurve>& curves) {
  double low = 1e300, high = 0;
  for (const auto& curve : curves) {
    low = std::min(low, curve.points.front().first);
    high = std::max(high, curve.points.back().first);
  }
  auto out = linear_axis(title, low, high);
  std::erase_if(out.ticks, [](const auto& tick) { return tick.first != std::floor(tick.first); });
  if (title == "tokens")
    for (auto& [tick, text] : out.ticks) text = tick > 0 ? format_tokens(tick) : "0";
  return out;
}

// True if one pair of axes can show all curves.
bool are_alike(const std::vector<PlottedCurve>& curves) {
  std::vector<double> ends, levels;
  for (const auto& curve : curves) {
    ends.push_back(curve.points.back().first);
    std::vector<double> values;
    for (const auto& [x, y] : curve.points) values.push_back(y);
    levels.push_back(statistics::median(values));
  }
  const auto spread = [](const std::vector<double>& some) {
    const auto [low, high] = std::ranges::minmax(some);
    return high / low;
  };
  return spread(ends) <= 8 && spread(levels) <= 8;
}

Chart::Mark mark_of_curve(const ChartRuns& runs, const PlottedCurve& curve, std::size_t look) {
  Chart::Mark out{.look = look, .tooltip = curve.line->name, .line = curve.points};
  out.run = static_cast<std::size_t>(curve.line - runs.lines.data());
  out.resumes = curve.resumes;
  return out;
}

}  // namespace

std::int64_t last_step(const Measurement& measured) {
  auto out = measured.steps;
  if (!measured.losses.empty()) out = std::max(out, measured.losses.back().step);
  if (!measured.step_times.empty()) out = std::max(out, measured.step_times.back().step);
  return out;
}

std::pair<std::vector<const PageLine*>, std::size_t> longest(const ChartRuns& runs) {
  std::vector<const PageLine*> out;
  for (const auto& line : runs.lines)
    if (has_course(line.record->measured)) out.push_back(&line);
  const auto all = out.size();
  std::ranges::stable_sort(out, std::greater<>(),
                           [](const PageLine* line) { return last_step(line->record->measured); });
  out.resize(std::min(all, kMostCurves));
  std::ranges::sort(out);
  return {out, all};
}

void add_resumes(PlottedCurve& curve, const std::vector<double>& steps) {
  for (const auto step : curve.line->record->measured.resumes) {
    const auto at = std::ranges::lower_bound(steps, static_cast<double>(step)) - steps.begin();
    if (at < std::ssize(curve.points))
      curve.resumes.push_back(curve.points[static_cast<std::size_t>(at)]);
  }
}

void draw_curves(Chart& chart, const ChartRuns& runs, const std::vector<PlottedCurve>& curves,
                 const CurveAxes& axes) {
  chart.kind = Chart::Kind::lines;
  const bool together = are_alike(curves);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (i == 0 || !together) {
      const auto some = together ? curves : std::vector{curves[i]};
      auto& panel = chart.panels.emplace_back();
      panel.title = together ? "" : run_label(runs, *curves[i].line);
      panel.x = along_axis(axes.along, some);
      panel.y = level_axis(axes.level, some, axes.highest);
    }
    chart.panels.back().marks.push_back(mark_of_curve(runs, curves[i], i));
    if (together) chart.legend.push_back({"curve", i, short_name(*curves[i].line)});
  }
  if (std::ranges::any_of(curves, [](const PlottedCurve& curve) { return !curve.resumes.empty(); }))
    chart.legend.push_back({"resume", 0, "resumed"});
}

void add_data(Chart& chart, const std::vector<PlottedCurve>& curves) {
  for (const auto& [line, points, resumes] : curves) {
    const auto every = std::max<std::size_t>(1, (points.size() + 11) / 12);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (i % every == 0 || i + 1 == points.size())
        chart.data.push_back({line->name, shown(points[i].first), shown(points[i].second)});
  }
}

std::string of_how_many(std::size_t all) {
  return all <= kMostCurves ? ""
                            : fmt::format("Of the {} longest of {} that tell of their steps.",
                                          kMostCurves, plural(all, "run"));
}

}  // namespace orch::page
