#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/show/chart.h"
#include "core/show/page/columns.h"

// One function for each chart: runs in, a chart out. A chart without panels has nothing to show.
namespace orch::page {

using show::Chart;

// The runs of a page as its charts see them.
struct ChartRuns {
  explicit ChartRuns(const std::vector<PageLine>& lines);

  const std::vector<PageLine>& lines;
  std::vector<const PageLine*>
      ranked;  // that count first, then measured before estimated, then by days
  std::vector<std::string> series;  // the best first
  bool differ_in_gpus = false, differ_in_strategy = false;
};

Chart best_chart(const ChartRuns& runs);
Chart days_chart(const ChartRuns& runs);
Chart sweep_chart(const ChartRuns& runs);
Chart scaling_chart(const ChartRuns& runs);
Chart time_chart(const ChartRuns& runs);
Chart memory_chart(const ChartRuns& runs);
Chart predicted_chart(const ChartRuns& runs);
Chart loss_chart(const ChartRuns& runs);
Chart pace_chart(const ChartRuns& runs);
Chart peaks_chart(const ChartRuns& runs);
Chart power_chart(const ChartRuns& runs);
Chart use_chart(const ChartRuns& runs);

// All that have something to show, in the order of the page; the best of each comes first.
std::vector<Chart> charts_of(const std::vector<PageLine>& lines);

// What charts are made of.

inline constexpr std::size_t kMostRows = 20;  // runs shown one below the other

// The series that a chart shows, best first, and the look of each, which is the same in all charts
// as long as there are enough.
struct ChartWithTable {
  std::vector<std::pair<std::string, std::size_t>> series;
  std::string note;  // on those left out

  const std::size_t* look(const std::string& name) const;
};
ChartWithTable shown_series(const ChartRuns& runs, const std::vector<const PageLine*>& lines);

// Around all values with some room; least: how many times the highest is the lowest, at least.
Chart::Axis log_axis(std::string title, const std::vector<double>& values, double least = 1.6);
Chart::Axis linear_axis(std::string title, double low, double high);
// The values, but for those so far from the middle one that beside them the others would be one
// spot: their marks stand at the edge.
std::vector<double> usual(std::vector<double> values);
// "1 mark is beyond the axis and stands at its edge."; empty: none is.
std::string at_the_edge(const Chart::Panel& panel);
// Of days in rows: logarithmic where the slowest would press the others together.
Chart::Axis days_axis(const std::vector<double>& values);
// By number of GPUs: equal steps for equal factors.
Chart::Axis gpu_axis(const std::set<double>& counts);
// Predicted against measured: one logarithmic scale for both axes, around all values, with the
// diagonal and ten percent to either side.
Chart::Panel square_of(const std::vector<double>& values);
// The value, and its limits.
void add_values(std::vector<double>& values, const std::optional<Interval>& range);

// The mark of a number of a run: its limits are on the axis of the value.
Chart::Mark mark_of(const ChartRuns& runs, const PageLine& line, std::size_t look,
                    const Interval& range, bool is_measured, const std::string& words);

std::vector<Chart::Sample> series_samples(const ChartWithTable& shown);
// What filled and hollow marks mean, of those that there are.
void add_kinds(std::vector<Chart::Sample>& legend, const std::vector<Chart::Mark>& marks);

// "Left out: runs that ran out of memory (2).", of those that have such a number.
std::string not_drawn(const ChartRuns& runs, const std::function<bool(const PageLine&)>& has);
bool has_days(const PageLine& line);
double days_of(const PageLine& line);  // infinite, where it has none

// Of runs one below the other: the best of each series, then the best of what is left.
std::vector<const PageLine*> best_first(const std::vector<const PageLine*>& all, std::size_t most);
std::string left_out(std::size_t all, std::size_t shown);
std::string run_label(const ChartRuns& runs, const PageLine& line);

std::string percent(double share);                                     // "80 %"
std::string with_limits(const Interval& range);                        // "12.3 (11.9 to 12.6)"
std::vector<std::string> three(const std::optional<Interval>& range);  // value, low, high
std::string sentences(const std::vector<std::string>& some);
std::string short_name(const PageLine& line);  // of a run, in a sentence

}  // namespace orch::page
