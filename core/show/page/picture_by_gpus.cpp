// Of each series the best run on so many GPUs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/show/page/parts.h"
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

void keep_best(const Line*& held, const Line& line, std::optional<Interval> Numbers::*days) {
  if (!(line.numbers.*days) || !std::isfinite((line.numbers.*days)->value)) return;
  if (held == nullptr || (line.numbers.*days)->value < (held->numbers.*days)->value) held = &line;
}

Points points_of(const Series& series) {
  Points out;
  for (const auto* line : series.lines) {
    auto& point = out[gpus_of(*line)];
    keep_best(point.measured, *line, &Numbers::days);
    keep_best(point.estimated, *line, &Numbers::estimated_days);
  }
  return out;
}

// The logarithm of an interval on a stretch of the picture.
class Scale {
 public:
  Scale(double low, double high, double from, double to)
      : low_(std::log(low)), high_(std::log(high)), from_(from), to_(to) {
    const double margin = std::max(0.08 * (high_ - low_), 0.15);
    low_ -= margin;
    high_ += margin;
  }
  double operator()(double value) const {
    return from_ + (to_ - from_) * (std::log(value) - low_) / (high_ - low_);
  }
  // 1, 2 and 5 of each decade.
  std::vector<double> ticks() const {
    std::vector<double> out;
    const auto decade = [](double log) { return static_cast<int>(std::floor(log / std::log(10))); };
    for (int d = decade(low_); d <= decade(high_); ++d)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double tick = step * std::pow(10, d);
        if (std::log(tick) >= low_ && std::log(tick) <= high_) out.push_back(tick);
      }
    return out;
  }

 private:
  double low_, high_, from_, to_;
};

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

std::string grid(const Scale& x, const Scale& y, const std::set<double>& gpus) {
  std::string out;
  for (const double tick : y.ticks())
    out += fmt::format(
        R"(<path class="grid" d="M{0} {1:.1f}H{2}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:g}</text>)"
        "\n",
        kLeft, y(tick), kLeft + kWide, kLeft - 8, y(tick) + 4, tick);
  double last = -1e9;
  for (const double count : gpus) {
    if (x(count) - last < 34) continue;
    last = x(count);
    out += fmt::format(
        R"(<path class="grid" d="M{0:.1f} {1}V{2}"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>)"
        "\n",
        last, kTop, kBottom, kBottom + 20, count);
  }
  return out + fmt::format(R"(<text x="{}" y="{}" text-anchor="middle">GPUs</text>)"
                           "\n",
                           kLeft + kWide / 2, kBottom + 46);
}

std::string ranged_mark(double x, const Scale& y, std::size_t place, const Line& line,
                        bool measured) {
  const auto& days = measured ? *line.numbers.days : *line.numbers.estimated_days;
  std::string out;
  if (days.has_limits() && std::isfinite(*days.high))
    out += fmt::format(R"(<path class="limits" d="M{:.1f} {:.1f}V{:.1f}"/>)", x, y(*days.low),
                       y(*days.high));
  return out + picture_mark(x, y(days.value), place, line, measured);
}

// Marks are joined where only the number of GPUs, and what follows from it, differs.
std::string marks(const Points& points, std::size_t place, double shift, const Scale& x,
                  const Scale& y) {
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
      if (point.measured != nullptr) up.add(point.measured->numbers.days);
      if (point.estimated != nullptr) up.add(point.estimated->numbers.estimated_days);
    }
  const Scale x(across.low, across.high, kLeft, kLeft + kWide), y(up.low, up.high, kBottom, kTop);
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
