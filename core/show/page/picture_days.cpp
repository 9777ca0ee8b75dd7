// Days per 100B tokens: by number of GPUs, or where all runs have as many, the best one below the
// other.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/show/page/columns.h"
#include "core/show/page/picture.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostSeries = kColours.size();
// One for each colour.
constexpr std::array kShapes{"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                             "M-4.5 -4.5h9v9h-9z",
                             "M0 -6L5.5 4.5h-11z",
                             "M0 -6.5L5 0L0 6.5L-5 0z",
                             "M0 6L5.5 -4.5h-11z",
                             "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
                             "M-6 -2.5h12v5h-12z"};
static_assert(kShapes.size() == kMostSeries);

// Runs with days and GPUs that count for speed, of one strategy and model; never empty.
struct Series {
  std::string name;
  std::vector<const Line*> lines;  // the best first
};

// 0: not known.
double gpus_of(const Line& line) {
  const double gpus = line.record->field_number("gpus").value_or(0);
  return gpus > 0 && gpus < 1e12 ? gpus : 0;
}

bool is_better_place(const Line* a, const Line* b) {
  const auto rank = [](const Line& line) {
    return std::tuple(!line.numbers.days.measured, line.numbers.best_days()->value);
  };
  return rank(*a) < rank(*b);
}

// A step that never ends has no place in a picture.
bool has_days(const Line& line) {
  const auto& days = line.numbers.best_days();
  return days && days->value > 0 && std::isfinite(days->value);
}

// The best first: measured before estimated, then by days.
std::vector<Series> series_of(const std::vector<Line>& lines) {
  std::set<std::string> models;
  std::vector<const Line*> usable;
  for (const auto& line : lines) {
    models.insert(model_of(*line.record));
    if (gpus_of(line) > 0 && has_days(line) && counts_for_speed(*line.record))
      usable.push_back(&line);
  }
  std::stable_sort(usable.begin(), usable.end(), is_better_place);
  std::vector<Series> out;
  for (const auto* line : usable) {
    auto name = strategy_of(*line->record);
    const auto model = model_of(*line->record);
    if (models.size() > 1) name += " · " + (model.empty() ? "model not known" : model);
    auto held = std::find_if(out.begin(), out.end(), [&](const auto& s) { return s.name == name; });
    if (held == out.end()) held = out.insert(out.end(), {name, {}});
    held->lines.push_back(line);
  }
  return out;
}

// "left out: runs that are doubtful (2) or ran out of memory (1)", of those with days; or empty.
std::string left_out(const std::vector<Line>& lines) {
  std::map<std::string, std::size_t> counts;
  for (const auto& line : lines)
    if (const auto why = not_counted(*line.record); !why.empty() && line.numbers.best_days())
      ++counts[why];
  std::string out;
  for (const auto& [why, n] : counts)
    out += fmt::format("{}{} ({})", out.empty() ? "left out: runs that " : " or ", why, n);
  return out;
}

// With the page's title, and what marks mean.
std::string days_head(const Page& page, std::string_view heading, double height) {
  const bool named = !page.title.empty();
  return picture_head(
      fmt::format("{}{}{}", heading, named ? ": " : "", escape(page.title, kLongestName)), heading,
      fmt::format("{}{}filled: measured, hollow: estimated with its 90 % range",
                  escape(page.title, 60), named ? " · " : ""),
      height);
}

// With a note in small letters.
std::string picture_foot(const std::string& note, double height) {
  if (note.empty()) return "</svg>\n";
  return fmt::format("<text class=\"small\" x=\"24\" y=\"{}\">{}</text>\n</svg>\n", height - 6,
                     escape(note));
}

// Opens it; "</g>" ends it.
std::string colour_group(std::size_t place) {
  return fmt::format("<g stroke=\"{0}\" fill=\"{0}\">", kColours[place]);
}

std::string legend_entry(double x, double y, std::size_t place, std::string_view name,
                         std::size_t longest = 28) {
  return fmt::format(
      R"_({}<path transform="translate({} {})" d="{}"/></g><text x="{}" y="{}">{}</text>)_"
      "\n",
      colour_group(place), x, y, kShapes[place], x + 16, y + 5,
      escape(name.empty() ? "runs" : name, longest));
}

// The mark of a run at a place: hollow for the estimate, filled for what was measured.
std::string picture_mark(double x, double y, std::size_t place, const Line& line, bool measured) {
  const auto& days = measured ? line.numbers.days.measured : line.numbers.days.estimated;
  const auto* kind = measured ? "measured" : "estimated";
  return fmt::format(
      R"_(<path class="{0}" transform="translate({1:.1f} {2:.1f})" d="{3}"><title>{4}: {5} days {0}</title></path>)_"
      "\n",
      kind, x, y, kShapes[place], escape(line.record->id, kLongestName), shown(days->value));
}

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

// Of each series the best run on so many GPUs.
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
  auto out = days_head(page, "Days per 100B tokens by number of GPUs", kBottom + 66);
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

constexpr std::size_t kMostRuns = 20;
constexpr double kBarsLeft = 330, kBarsRight = kPictureWidth - 30, kBarsTop = 104, kRow = 26;

struct Ranked {
  const Line* line = nullptr;
  std::size_t place = 0;  // of its series
};

double days_of(const Line& line) { return line.numbers.best_days()->value; }

std::vector<Ranked> ranked(const std::vector<Series>& all) {
  std::vector<Ranked> out;
  for (std::size_t place = 0; place < std::min(all.size(), kMostSeries); ++place)
    for (const auto* line : all[place].lines) out.push_back({line, place});
  std::stable_sort(out.begin(), out.end(), [](const Ranked& a, const Ranked& b) {
    return days_of(*a.line) < days_of(*b.line);
  });
  out.resize(std::min(out.size(), kMostRuns));
  return out;
}

double most_days(const std::vector<Ranked>& runs) {
  double out = 0;
  for (const auto& run : runs)
    for (const auto& range : {run.line->numbers.days.measured, run.line->numbers.days.estimated})
      if (const double days = range ? range->high.value_or(range->value) : 0; std::isfinite(days))
        out = std::max(out, days);
  return out;
}

double x_of(double days, double most) {
  return kBarsLeft + (most > 0 ? (kBarsRight - kBarsLeft) * std::min(days, most) / most : 0);
}

// 1, 2 or 5 times a power of ten, so that there are four to nine of them.
double tick_step(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  return most / power < 2 ? power / 5 : most / power < 5 ? power / 2 : power;
}

std::string grid(double most, double bottom) {
  std::string out;
  const double step = tick_step(most);
  for (int i = 0; i * step <= most && i < 20; ++i)
    out += line_upright(x_of(i * step, most), kBarsTop - 14, bottom, i * step);
  return out + axis_label((kBarsLeft + kBarsRight) / 2, bottom + 40, "days per 100B tokens");
}

std::string row(const Ranked& run, double y, double most) {
  const auto& numbers = run.line->numbers;
  auto out = fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                         kBarsLeft - 14, y + 5, escape(run_name(*run.line->record), 38));
  out += colour_group(run.place);
  for (const auto& range : {numbers.days.estimated, numbers.days.measured})
    if (range && range->has_limits())
      out += fmt::format(R"(<path class="limits" d="M{:.1f} {:.1f}H{:.1f}"/>)",
                         x_of(*range->low, most), y, x_of(*range->high, most));
  if (numbers.days.estimated)
    out += picture_mark(x_of(numbers.days.estimated->value, most), y, run.place, *run.line, false);
  if (numbers.days.measured)
    out += picture_mark(x_of(numbers.days.measured->value, most), y, run.place, *run.line, true);
  return out + "</g>\n";
}

std::string picture_ranking(const Page& page, const std::vector<Series>& all,
                            const std::string& note) {
  const auto runs = ranked(all);
  const double bottom = kBarsTop + kRow * static_cast<double>(runs.size());
  auto out = days_head(page, "Days per 100B tokens", bottom + 60);
  const double most = 1.03 * most_days(runs);
  const auto shown = std::min(all.size(), kMostSeries);
  const double step = std::min(220.0, (kPictureWidth - 60) / static_cast<double>(shown));
  for (std::size_t place = 0; place < shown; ++place)
    out += legend_entry(30 + step * static_cast<double>(place), 74, place, all[place].name,
                        static_cast<std::size_t>(step / 8) - 3);
  out += grid(most, bottom);
  for (std::size_t i = 0; i < runs.size(); ++i)
    out += row(runs[i], kBarsTop + kRow * static_cast<double>(i), most);
  return out + picture_foot(note, bottom + 60);
}

}  // namespace

std::string svg(const Page& page) {
  const auto lines = lines_of(page.records);
  const auto all = series_of(lines);
  const auto left = left_out(lines);
  if (all.empty())
    return days_head(page, "Days per 100B tokens", 120) +
           fmt::format("<text x=\"24\" y=\"90\">{}</text>\n</svg>\n",
                       left.empty() ? "no run has days per 100B tokens and a number of GPUs"
                                    : "no run is left to show; " + left);
  std::set<double> gpus;
  for (const auto& series : all)
    for (const auto* line : series.lines) gpus.insert(gpus_of(*line));
  return gpus.size() > 1 ? picture_by_gpus(page, all, left) : picture_ranking(page, all, left);
}

}  // namespace orch::page
