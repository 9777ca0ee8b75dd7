#include "core/show/page/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/statistics/interval.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostSeries = 7;  // more colours are hard to distinguish
constexpr double kMostOnAxis = 1e100;   // larger values would have too many ticks
constexpr double kFarOff = 50;          // ratio of neighbours that makes an outlier

// Ticks at 1, 2 and 5 of each decade, or fewer if there are many decades.
std::vector<double> decades(double low, double high) {
  const double wide = std::log10(high / low);
  const std::vector<double> steps = wide > 6   ? std::vector<double>{1}
                                    : wide > 3 ? std::vector<double>{1, 5}
                                               : std::vector<double>{1, 2, 5};
  std::vector<double> out;
  for (double decade = std::floor(std::log10(low)); decade <= std::log10(high); decade += 1)
    for (const double step : steps)
      if (const double tick = step * std::pow(10, decade);
          tick >= low * 0.9999 && tick <= high * 1.0001)
        out.push_back(tick);
  return out;
}

// Four to ten ticks at multiples of 1, 2 or 5 times a power of ten.
std::vector<double> even_ticks(double low, double high) {
  const double power = std::pow(10, std::floor(std::log10(high - low)));
  const double times = (high - low) / power;
  const double step = times < 2 ? power / 5 : times < 5 ? power / 2 : power;
  std::vector<double> out;
  for (double i = std::ceil(low / step - 1e-6); i * step <= high + 1e-6 * step; i += 1)
    out.push_back(i * step);
  return out;
}

void label_ticks(Chart::Axis& axis, const std::vector<double>& ticks) {
  for (const double tick : ticks) axis.ticks.emplace_back(tick, shown(tick));
}

}  // namespace

ChartRuns::ChartRuns(const std::vector<PageLine>& all) : lines(all) {
  std::set<double> counts;
  std::set<std::string> strategies;
  for (const auto& line : lines) {
    ranked.push_back(&line);
    counts.insert(line.gpus);
    strategies.insert(strategy_of(*line.record));
  }
  differ_in_gpus = counts.size() > 1, differ_in_strategy = strategies.size() > 1;
  const auto rank = [](const PageLine* line) {
    return std::tuple(!line->out.empty(), !line->numbers.days.measured, days_of(*line));
  };
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const PageLine* a, const PageLine* b) { return rank(a) < rank(b); });
  std::set<std::string> seen;
  for (const auto* line : ranked)
    if (seen.insert(line->series).second) series.push_back(line->series);
}

std::vector<Chart> charts_of(const std::vector<PageLine>& lines) {
  const ChartRuns runs(lines);
  std::vector<Chart> out;
  for (const auto make :
       {best_chart, days_chart, sweep_chart, scaling_chart, time_chart, memory_chart,
        predicted_chart, loss_chart, pace_chart, peaks_chart, power_chart, use_chart})
    if (auto chart = make(runs); !chart.panels.empty()) out.push_back(std::move(chart));
  return out;
}

const std::size_t* ChartWithTable::look(const std::string& name) const {
  const auto found = std::ranges::find(series, name, &std::pair<std::string, std::size_t>::first);
  return found == series.end() ? nullptr : &found->second;
}

ChartWithTable shown_series(const ChartRuns& runs, const std::vector<const PageLine*>& lines) {
  std::set<std::string> present;
  for (const auto* line : lines) present.insert(line->series);
  ChartWithTable out;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < runs.series.size(); ++i) {
    if (!present.contains(runs.series[i])) continue;
    const auto place = out.series.size();
    if (place == kMostSeries)
      rest.push_back(runs.series[i]);
    else
      out.series.emplace_back(runs.series[i], runs.series.size() > kMostSeries ? place : i);
  }
  if (!rest.empty())
    out.note = fmt::format("Left out: {} more series ({}). The table has them all.", rest.size(),
                           show::cut(and_list(rest), 300));
  return out;
}

Chart::Axis log_axis(std::string title, const std::vector<double>& values, double least) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  const double low = std::clamp(lowest, 1 / kMostOnAxis, kMostOnAxis);
  const double high = std::clamp(highest, low, kMostOnAxis);
  const double times = high / low;
  const double factor =
      std::max({std::pow(times, 0.06), std::sqrt(std::max(1.0, least / times)), 1.05});
  Chart::Axis out{.title = std::move(title), .low = low / factor, .high = high * factor};
  out.is_log = true;
  const auto ticks = decades(out.low, out.high);
  label_ticks(out, ticks.size() > 1 ? ticks : even_ticks(out.low, out.high));
  return out;
}

// Walks from the median in both directions until a value is kFarOff times its neighbour. Evenly
// spread values are thus all usual, however wide their range.
std::vector<double> usual(std::vector<double> values) {
  if (values.empty()) return values;
  std::ranges::sort(values);
  auto low = values.begin() + (std::ssize(values) - 1) / 2, high = low;
  while (high + 1 != values.end() && *(high + 1) <= kFarOff * *high) ++high;
  while (low != values.begin() && *low <= kFarOff * *(low - 1)) --low;
  return {low, high + 1};
}

std::string at_the_edge(const Chart::Panel& panel) {
  const auto is_beyond = [](const Chart::Axis& axis, double value) {
    return value > axis.high || value < axis.low;
  };
  const auto n = std::ranges::count_if(panel.marks, [&](const Chart::Mark& mark) {
    return is_beyond(panel.x, mark.x) || (panel.rows.empty() && is_beyond(panel.y, mark.y));
  });
  if (n == 0) return "";
  return n == 1 ? "1 mark is beyond the axis and stands at its edge."
                : fmt::format("{} marks are beyond the axis and stand at its edge.", n);
}

Chart::Axis linear_axis(std::string title, double low, double high) {
  low = std::clamp(low, -kMostOnAxis, kMostOnAxis);
  high = std::min(high, kMostOnAxis);
  if (!(high > low)) high = low + std::max(1.0, std::abs(low));
  Chart::Axis out{.title = std::move(title), .low = low, .high = high};
  label_ticks(out, even_ticks(low, high));
  return out;
}

Chart::Axis gpu_axis(const std::set<double>& counts) {
  auto out = log_axis("GPUs", {counts.begin(), counts.end()});
  out.ticks.clear();
  label_ticks(out, {counts.begin(), counts.end()});
  return out;
}

void add_values(std::vector<double>& values, const std::optional<Interval>& range) {
  if (!range) return;
  values.push_back(range->value);
  if (range->has_limits()) values.insert(values.end(), {*range->low, *range->high});
}

Chart::Mark mark_of(const ChartRuns& runs, const PageLine& line, std::size_t look,
                    const Interval& range, bool is_measured, const std::string& words) {
  Chart::Mark out;
  out.look = look;
  if (range.has_limits()) out.low = range.low, out.high = range.high;
  out.run = static_cast<std::size_t>(&line - runs.lines.data());
  out.is_hollow = !is_measured;
  out.is_doubtful = !line.record->doubts.empty();
  out.tooltip = line.name + ": " + words;
  return out;
}

std::vector<Chart::Sample> series_samples(const ChartWithTable& shown) {
  std::vector<Chart::Sample> out;
  for (const auto& [name, look] : shown.series)
    out.push_back({"series", look, show::cut(name, 60)});
  return out;
}

void add_kinds(std::vector<Chart::Sample>& legend, const std::vector<Chart::Mark>& marks) {
  for (const bool is_hollow : {false, true}) {
    bool any = false, ranges = false;
    for (const auto& mark : marks) {
      any = any || mark.is_hollow == is_hollow;
      ranges = ranges || (mark.is_hollow == is_hollow && mark.low);
    }
    if (any && is_hollow)
      legend.push_back(
          {"hollow", 0, std::string("hollow: estimated") + (ranges ? ", 90 % range" : "")});
    else if (any)
      legend.push_back(
          {"filled", 0, std::string("filled: measured") + (ranges ? ", 95 % interval" : "")});
  }
  if (std::ranges::any_of(marks, &Chart::Mark::is_doubtful))
    legend.push_back({"doubtful", 0, "dashed: doubtful"});
}

std::string not_drawn(const ChartRuns& runs, const std::function<bool(const PageLine&)>& has) {
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const auto& line : runs.lines) {
    if (line.out.empty() || !has(line)) continue;
    const auto held = std::ranges::find(reasons, line.out, &decltype(reasons)::value_type::first);
    if (held == reasons.end())
      reasons.emplace_back(line.out, 1);
    else
      ++held->second;
  }
  std::vector<std::string> words;
  for (const auto& [why, n] : reasons) words.push_back(fmt::format("{} ({})", why, n));
  return words.empty() ? "" : fmt::format("Left out: runs that {}.", join(words, " or "));
}

bool has_days(const PageLine& line) { return line.gpus > 0 && line.numbers.best_days(); }

double days_of(const PageLine& line) {
  const auto& days = line.numbers.best_days();
  return days ? days->value : std::numeric_limits<double>::infinity();
}

std::vector<const PageLine*> best_first(const std::vector<const PageLine*>& all, std::size_t most) {
  std::vector<const PageLine*> out, others;
  std::set<std::string> seen;
  for (const auto* line : all) (seen.insert(line->series).second ? out : others).push_back(line);
  out.insert(out.end(), others.begin(), others.end());
  out.resize(std::min(out.size(), most));
  return out;
}

std::string left_out(std::size_t all, std::size_t shown) {
  return all <= shown ? ""
                      : fmt::format(
                            "The best of each series, then the best: {} of {}; the table has them "
                            "all.",
                            shown, plural(all, "run"));
}

std::string run_label(const ChartRuns& runs, const PageLine& line) {
  std::vector<std::string> parts{line.name};
  if (runs.differ_in_strategy) parts.push_back(clean(strategy_of(*line.record), kLongestName));
  if (runs.differ_in_gpus && line.gpus > 0) parts.push_back(plural(line.gpus, "GPU"));
  std::erase(parts, "");
  return join(parts, " · ");
}

std::string percent(double share) { return group_digits(std::round(100 * share)) + " %"; }

std::string with_limits(const Interval& range) {
  return shown(range.value) + (range.has_limits()
                                   ? fmt::format(" ({} to {})", shown(range.low), shown(range.high))
                                   : "");
}

std::vector<std::string> three(const std::optional<Interval>& range) {
  if (!range) return {"", "", ""};
  return {shown(range->value), shown(range->low), shown(range->high)};
}

std::string sentences(const std::vector<std::string>& some) {
  std::vector<std::string> out;
  for (const auto& each : some)
    if (!each.empty()) out.push_back(each);
  return join(out, " ");
}

std::string short_name(const PageLine& line) {
  return line.name.empty() ? "no name" : show::cut(line.name, 60);
}

}  // namespace orch::page
