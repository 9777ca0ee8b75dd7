#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/show/chart.h"
#include "core/show/page/columns.h"

// One function for each chart of the page: it takes the runs and returns the chart. A chart
// without panels has nothing to show.
namespace orch::page {

using show::Chart;

// The runs of a page, with the rankings that all charts share.
struct ChartRuns {
  explicit ChartRuns(const std::vector<PageLine>& lines);

  const std::vector<PageLine>& lines;
  std::vector<const PageLine*>
      ranked;  // runs that count first, measured before estimated, then by days
  std::vector<std::string> series;  // best first
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

// All charts that have something to show, in the order of the page: best_chart comes first.
std::vector<Chart> charts_of(const std::vector<PageLine>& lines);

// The functions below are shared by the charts.

inline constexpr std::size_t kMostRows = 20;  // most runs that a chart shows as rows

// The series that a chart shows, best first, each with the number of its colour and shape. A series
// has the same number in all charts unless the page has more series than colours.
struct ChartWithTable {
  std::vector<std::pair<std::string, std::size_t>> series;
  std::string note;  // names the series that are left out

  const std::size_t* look(const std::string& name) const;
};
ChartWithTable shown_series(const ChartRuns& runs, const std::vector<const PageLine*>& lines);

// A logarithmic axis around all values with some room. least: the smallest ratio of the highest to
// the lowest value that the axis covers.
Chart::Axis log_axis(std::string title, const std::vector<double>& values, double least = 1.6);
Chart::Axis linear_axis(std::string title, double low, double high);
// The values without outliers, which would compress all others into one spot. The marks of the
// outliers are drawn at the edge.
std::vector<double> usual(std::vector<double> values);
// "1 mark is beyond the axis and stands at its edge."; empty if none is.
std::string at_the_edge(const Chart::Panel& panel);
// The axis of days: logarithmic if the slowest run would compress the others on a linear one.
Chart::Axis days_axis(const std::vector<double>& values);
// The axis of the number of GPUs: logarithmic.
Chart::Axis gpu_axis(const std::set<double>& counts);
// A panel for predicted against measured times: both axes have the same logarithmic scale around
// all values; lines mark the diagonal and ten percent to either side.
Chart::Panel square_of(const std::vector<double>& values);
// Appends the value and its limits.
void add_values(std::vector<double>& values, const std::optional<Interval>& range);

// The mark of a run for a value; the limits lie on the same axis as the value.
Chart::Mark mark_of(const ChartRuns& runs, const PageLine& line, std::size_t look,
                    const Interval& range, bool is_measured, const std::string& words);

std::vector<Chart::Sample> series_samples(const ChartWithTable& shown);
// Adds what filled and hollow marks mean to the legend, if the chart has such marks.
void add_kinds(std::vector<Chart::Sample>& legend, const std::vector<Chart::Mark>& marks);

// "Left out: runs that ran out of memory (2).": counts the runs for which `has` is true.
std::string not_drawn(const ChartRuns& runs, const std::function<bool(const PageLine&)>& has);
bool has_days(const PageLine& line);
double days_of(const PageLine& line);  // infinite if the run has none

// The runs for a chart with rows: the best of each series, then the best of the others.
std::vector<const PageLine*> best_first(const std::vector<const PageLine*>& all, std::size_t most);
std::string left_out(std::size_t all, std::size_t shown);
std::string run_label(const ChartRuns& runs, const PageLine& line);

std::string percent(double share);                                     // "80 %"
std::string with_limits(const Interval& range);                        // "12.3 (11.9 to 12.6)"
std::vector<std::string> three(const std::optional<Interval>& range);  // value, low, high
std::string sentences(const std::vector<std::string>& some);
std::string short_name(const PageLine& line);  // for use in a sentence

}  // namespace orch::page
