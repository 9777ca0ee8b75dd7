// Days per 100B tokens by number of GPUs. With two numbers of GPUs the chart has rows instead of an
// axis; if all runs have the same number, it ranks the best runs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/page.h"
#include "core/show/page/svg.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr const char* kDays = "days per 100B tokens";

// A run with either its measured or its estimated days.
struct FoundRun {
  const PageLine* line = nullptr;
  bool is_measured = false;

  const Interval& days() const {
    return is_measured ? *line->numbers.days.measured : *line->numbers.days.estimated;
  }
  const char* kind() const { return is_measured ? "measured" : "estimated"; }
};

using ByGpus = std::map<double, FoundRun>;
struct BestDays {
  ByGpus estimated, measured;
};

void keep(ByGpus& held, const PageLine& line, bool is_measured) {
  const FoundRun found{&line, is_measured};
  const auto [at, is_new] = held.try_emplace(line.gpus, found);
  if (!is_new && found.days().value < at->second.days().value) at->second = found;
}

// The best measured and estimated run of each series for each number of GPUs.
std::map<std::string, BestDays> best_by_gpus(const std::vector<const PageLine*>& usable) {
  std::map<std::string, BestDays> out;
  for (const auto* line : usable) {
    if (line->numbers.days.measured) keep(out[line->series].measured, *line, true);
    if (line->numbers.days.estimated) keep(out[line->series].estimated, *line, false);
  }
  return out;
}

std::string days_words(const FoundRun& found) {
  return fmt::format("{} days with {} on {}, {}", shown(found.days().value), found.line->series,
                     plural(found.line->gpus, "GPU"), found.kind());
}

// Compares measured runs if there are any, and estimates only otherwise: an estimate of another
// model means little next to a measurement.
std::string days_finding(const std::vector<const PageLine*>& usable) {
  std::vector<FoundRun> all;
  for (const auto* line : usable)
    if (line->numbers.days.measured) all.push_back({line, true});
  for (const auto* line : usable)
    if (all.empty() || !all.front().is_measured) all.push_back({line, false});
  const auto fewer = [](const FoundRun& a, const FoundRun& b) {
    return a.days().value < b.days().value;
  };
  const auto best = *std::ranges::min_element(all, fewer);
  const auto fewest_gpus = [](const FoundRun& a, const FoundRun& b) {
    return std::pair(a.line->gpus, a.days().value) < std::pair(b.line->gpus, b.days().value);
  };
  const auto first = *std::ranges::min_element(all, fewest_gpus);
  auto out = fmt::format("Fewest: {} ({}).", days_words(best), short_name(*best.line));
  if (first.line->gpus != best.line->gpus)
    out += fmt::format(" The best on the fewest GPUs: {}.", days_words(first));
  return out;
}

// True if the runs differ only in the number of GPUs and in what follows from it.
bool are_related(const PageLine& a, const PageLine& b) {
  return (a.strong != 0 && a.strong == b.strong) || (a.weak != 0 && a.weak == b.weak);
}

Chart::Mark days_mark(const ChartRuns& runs, const FoundRun& found, std::size_t look,
                      const std::string& more) {
  return mark_of(
      runs, *found.line, look, found.days(), found.is_measured,
      fmt::format("{} days per 100B tokens, {}{}", with_limits(found.days()), found.kind(), more));
}

std::vector<std::string> days_row(const std::string& series, const FoundRun& found) {
  const auto range = three(found.days());
  return {series,   shown(found.line->gpus), found.kind(), range[0], range[1],
          range[2], found.line->name};
}

// Adds the marks of a series and the lines between them. shift: a factor on the number of GPUs that
// separates the marks of different series.
void add_days(Chart& chart, const ChartRuns& runs, const ByGpus& points,
              const std::pair<std::string, std::size_t>& series, double shift) {
  auto& panel = chart.panels[0];
  const PageLine* last = nullptr;
  for (const auto& [gpus, found] : points) {
    auto made = days_mark(runs, found, series.second, ", " + plural(gpus, "GPU"));
    made.x = gpus * shift, made.y = found.days().value;
    if (last != nullptr && are_related(*last, *found.line)) {
      const auto& before = panel.marks.back();
      panel.rules.push_back({.kind = "line",
                             .line = {{before.x, before.y}, {made.x, made.y}},
                             .look = series.second,
                             .is_hollow = !found.is_measured});
    }
    last = found.line;
    panel.marks.push_back(std::move(made));
    chart.data.push_back(days_row(series.first, found));
  }
}

// The chart without axes and marks.
Chart chart_by_gpus(const std::vector<const PageLine*>& usable) {
  Chart out{.title = "Days per 100B tokens by number of GPUs", .finding = days_finding(usable)};
  out.data = {{"Series", "GPUs", "Kind", "Days", "Low", "High", "Run"}};
  out.panels.emplace_back();
  return out;
}

std::string note_by_gpus(const Chart& chart, const std::string& lines, const ChartRuns& runs,
                         const ChartWithTable& shown) {
  return sentences({"Each mark is the best run of its series on that number of GPUs" + lines,
                    at_the_edge(chart.panels[0]), shown.note, not_drawn(runs, has_days)});
}

// The chart for two numbers of GPUs. They would be the two ends of an otherwise empty axis, so each
// is a row of its series.
Chart strip(const ChartRuns& runs, const std::vector<const PageLine*>& usable) {
  const auto shown = shown_series(runs, usable);
  const auto all = best_by_gpus(usable);
  auto out = chart_by_gpus(usable);
  auto& panel = out.panels[0];
  std::vector<double> values;
  for (const auto& [name, look] : shown.series) {
    std::map<double, double> row_of;  // by number of GPUs
    for (const auto* points : {&all.at(name).estimated, &all.at(name).measured})
      for (const auto& [gpus, found] : *points) row_of[gpus] = 0;
    for (auto& [gpus, row] : row_of) {
      const bool is_first = gpus == row_of.begin()->first;
      row = static_cast<double>(panel.rows.size());
      panel.rows.push_back({is_first ? name : "", plural(gpus, "GPU")});
    }
    for (const auto* points : {&all.at(name).estimated, &all.at(name).measured})
      for (const auto& [gpus, found] : *points) {
        auto made = days_mark(runs, found, look, ", " + plural(gpus, "GPU"));
        made.x = found.days().value, made.y = row_of[gpus];
        panel.marks.push_back(std::move(made));
        add_values(values, found.days());
        out.data.push_back(days_row(name, found));
      }
  }
  panel.x = days_axis(values);
  out.note = note_by_gpus(out, ".", runs, shown);
  return out;
}

Chart by_gpus(const ChartRuns& runs, const std::vector<const PageLine*>& usable) {
  const auto shown = shown_series(runs, usable);
  const auto all = best_by_gpus(usable);
  auto out = chart_by_gpus(usable);
  std::set<double> counts;
  std::vector<double> values;
  for (const auto& [name, look] : shown.series)
    for (const auto* points : {&all.at(name).estimated, &all.at(name).measured})
      for (const auto& [gpus, found] : *points) {
        counts.insert(gpus);
        add_values(values, found.days());
      }
  auto& panel = out.panels[0];
  panel.x = gpu_axis(counts), panel.y = log_axis(kDays, usual(values));
  const double each = std::pow(panel.x.high / panel.x.low,
                               std::min(0.012, 0.06 / static_cast<double>(shown.series.size())));
  double place = -0.5 * static_cast<double>(shown.series.size() - 1);
  for (const auto& series : shown.series) {
    const double shift = std::pow(each, place++);
    add_days(out, runs, all.at(series.first).estimated, series, shift);
    add_days(out, runs, all.at(series.first).measured, series, shift);
  }
  out.legend = series_samples(shown);
  out.note = note_by_gpus(
      out, "; lines join runs that differ only in that number and what follows from it.", runs,
      shown);
  return out;
}

std::string ranking_finding(const ChartRuns& runs, const std::vector<const PageLine*>& lines) {
  // Measured runs are preferred, because an estimate may be far too low.
  const auto measured = std::ranges::find_if(
      lines, [](const PageLine* line) { return line->numbers.days.measured.has_value(); });
  const auto& best = measured != lines.end() ? **measured : *lines.front();
  const auto words = fmt::format("Fewest: {} days, {}, {}.", shown(days_of(best)),
                                 show::cut(run_label(runs, best), 80),
                                 best.numbers.days.measured ? "measured" : "estimated");
  const auto second = std::ranges::find_if(
      lines, [&](const PageLine* line) { return line->series != best.series; });
  if (second == lines.end()) return words;
  const double times = days_of(**second) / days_of(best);
  const auto against = times < 1   ? percent(1 - times) + " fewer, by the estimate"
                       : times < 2 ? percent(times - 1) + " more"
                                   : fmt::format("{:.2f} times as many", times);
  return fmt::format("{} The best of {}: {} days, {}.", words, (*second)->series,
                     shown(days_of(**second)), against);
}

Chart ranking(const ChartRuns& runs, const std::vector<const PageLine*>& usable) {
  auto best = best_first(usable, kMostRows);
  const auto shown = shown_series(runs, best);
  std::erase_if(best, [&](const PageLine* line) { return !shown.look(line->series); });
  std::ranges::stable_sort(best, {}, [](const PageLine* line) { return days_of(*line); });
  Chart out{.title = "Days per 100B tokens", .finding = ranking_finding(runs, best)};
  out.data = {{"Run", "Kind", "Days", "Low", "High"}};
  auto& panel = out.panels.emplace_back();
  std::vector<double> values;
  for (const auto* line : best) {
    const auto row = static_cast<double>(panel.rows.size());
    panel.rows.push_back({run_label(runs, *line)});
    for (const bool is_measured : {false, true}) {  // measured marks on top
      const auto& days = line->numbers.days;
      if (is_measured ? !days.measured : !days.estimated) continue;
      const FoundRun found{line, is_measured};
      add_values(values, found.days());
      auto made = days_mark(runs, found, *shown.look(line->series), "");
      made.x = found.days().value, made.y = row;
      panel.marks.push_back(std::move(made));
      const auto range = three(found.days());
      out.data.push_back({line->name, found.kind(), range[0], range[1], range[2]});
    }
  }
  panel.x = days_axis(values);
  out.legend = series_samples(shown);
  out.note = sentences({at_the_edge(panel), left_out(usable.size(), kMostRows), shown.note,
                        not_drawn(runs, has_days)});
  return out;
}

}  // namespace

Chart::Axis days_axis(const std::vector<double>& values) {
  const auto some = usual(values);
  const auto [low, high] = std::ranges::minmax(some);
  return high > 5 * low ? log_axis(kDays, some) : linear_axis(kDays, 0, 1.03 * high);
}

std::string svg(const Page& page) {
  const auto lines = lines_of(page.records);
  const ChartRuns runs(lines);
  auto chart = days_chart(runs);
  chart.note =
      not_drawn(runs, [](const PageLine& line) { return line.numbers.best_days().has_value(); });
  if (chart.panels.empty()) {
    chart.title = "Days per 100B tokens";
    chart.finding = chart.note.empty() ? "no run has days per 100B tokens and a number of GPUs"
                                       : "no run is left to show";
  }
  if (!page.title.empty()) chart.title += ": " + clean(page.title, 60);
  return svg_of(chart);
}

Chart days_chart(const ChartRuns& runs) {
  std::vector<const PageLine*> usable;
  for (const auto* line : runs.ranked)
    if (line->out.empty() && has_days(*line)) usable.push_back(line);
  if (usable.empty()) return {};
  const auto series = shown_series(runs, usable);
  std::set<double> all, counts;  // counts: only of the series shown
  for (const auto* line : usable) {
    all.insert(line->gpus);
    if (series.look(line->series) != nullptr) counts.insert(line->gpus);
  }
  std::ranges::stable_sort(usable, {}, [](const PageLine* line) { return days_of(*line); });
  auto out = all.size() == 1     ? ranking(runs, usable)
             : counts.size() > 2 ? by_gpus(runs, usable)
                                 : strip(runs, usable);
  out.name = "days";
  add_kinds(out.legend, out.panels[0].marks);
  return out;
}

}  // namespace orch::page
