// Of each series the best run on so many GPUs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/show/page/picture.h"

namespace orch::page {
namespace {

constexpr double kLeft = 76, kTop = 72, kWide = 570, kHigh = 410, kBottom = kTop + kHigh;

struct Point {
  const Line* measured = nullptr;
  const Line* estimated = nullptr;

  const Line& line() const { return measured != nullptr ? *measured : *estimated; }
  const Interval& best() const { return *line().numbers.best_days(); }
};
using Points = std::map<double, Point>;  // by GPUs

void keep_best(const Line*& held, const Line& line, std::optional<Interval> Both::*kind) {
  const auto& days = line.numbers.days.*kind;
  if (!days || !std::isfinite(days->value)) return;
  if (held == nullptr || days->value < (held->numbers.days.*kind)->value) held = &line;
}

Points points_of(const Series& series) {
  Points out;
  for (const auto* line : series.lines) {
    auto& point = out[gpus_of(*line)];
    keep_best(point.measured, *line, &Both::measured);
    keep_best(point.estimated, *line, &Both::estimated);
  }
  return out;
}

struct Extent {
  double low = 1e300, high = 0;
  void add(double value) {
    if (std::isfinite(value) && value > 0) low = std::min(low, value), high = std::max(high, value);
  }
  void add(const std::optional<Interval>& range) {
    if (!range) return;
    add(range->low.value_or(range->value));
    add(range->high.value_or(range->value));
  }
};

// Eight percent of what they span, and some room where that is little.
LogScale scale_of(const Extent& extent, double from, double to) {
  const double margin = std::max(0.08 * std::log10(extent.high / extent.low), 0.065);
  return {extent.low, extent.high, margin, from, to};
}

std::string grid(const LogScale& x, const LogScale& y, const std::set<double>& gpus) {
  std::string out;
  for (const double tick : y.ticks())
    out += line_across(y(tick), kLeft, kLeft + kWide, fmt::format("{:g}", tick));
  double last = -1e9;
  for (const double count : gpus) {
    if (x(count) - last < 34) continue;
    last = x(count);
    out += line_upright(last, kTop, kBottom, count);
  }
  return out + axis_label(kLeft + kWide / 2, kBottom + 46, "GPUs");
}

std::string ranged_mark(double x, const LogScale& y, std::size_t place, const Line& line,
                        bool measured) {
  const auto& days = measured ? *line.numbers.days.measured : *line.numbers.days.estimated;
  std::string out;
  if (days.has_limits() && std::isfinite(*days.high))
    out += fmt::format(R"(<path class="limits" d="M{:.1f} {:.1f}V{:.1f}"/>)", x, y(*days.low),
                       y(*days.high));
  return out + picture_mark(x, y(days.value), place, line, measured);
}

// Whether a line may join the two in a chart over GPUs.
bool are_related(const Line& a, const Line& b) {
  return (a.strong != 0 && a.strong == b.strong) || (a.weak != 0 && a.weak == b.weak);
}

// Marks are joined where only the number of GPUs, and what follows from it, differs.
std::string marks(const Points& points, std::size_t place, double shift, const LogScale& x,
                  const LogScale& y) {
  std::string line, out;
  const Line* last = nullptr;
  for (const auto& [gpus, point] : points) {
    const double at = x(gpus) + shift;
    const bool joined = last != nullptr && are_related(*last, point.line());
    line += fmt::format("{}{:.1f} {:.1f}", joined ? "L" : "M", at, y(point.best().value));
    last = &point.line();
    if (point.estimated != nullptr) out += ranged_mark(at, y, place, *point.estimated, false);
    if (point.measured != nullptr) out += ranged_mark(at, y, place, *point.measured, true);
  }
  return colour_group(place) + fmt::format("<path class=\"line\" d=\"{}\"/>\n", line) + out +
         "</g>\n";
}

}  // namespace

std::string picture_by_gpus(const Page& page, const std::vector<Series>& all,
                            const std::string& note) {
  std::vector<Points> drawn;
  Extent across, up;
  std::set<double> gpus;
  for (std::size_t i = 0; i < std::min(all.size(), kMostSeries); ++i)
    for (const auto& [count, point] : drawn.emplace_back(points_of(all[i]))) {
      across.add(count);
      gpus.insert(count);
      if (point.measured != nullptr) up.add(point.measured->numbers.days.measured);
      if (point.estimated != nullptr) up.add(point.estimated->numbers.days.estimated);
    }
  const auto x = scale_of(across, kLeft, kLeft + kWide), y = scale_of(up, kBottom, kTop);
  auto out = picture_head(page, "Days per 100B tokens by number of GPUs", kBottom + 66);
  out += grid(x, y, gpus);
  const double middle = static_cast<double>(drawn.size() - 1) / 2, right = kLeft + kWide + 28;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto place = static_cast<double>(i);
    out += marks(drawn[i], i, 6 * (place - middle), x, y);
    out += legend_entry(right, kTop + 8 + 24 * place, i, all[i].name);
  }
  if (all.size() > kMostSeries)
    out += fmt::format("<text class=\"small\" x=\"{}\" y=\"{}\">and {} more</text>\n", right,
                       kTop + 16 + 24 * static_cast<double>(kMostSeries), all.size() - kMostSeries);
  return out + picture_foot(note, kBottom + 66);
}

}  // namespace orch::page
