#include "core/show/page/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/show/page/text.h"

namespace orch::page {
namespace {

// The colours of Okabe and Ito, told apart by most eyes, without black and with a lighter blue: they
// show on light and on dark. And a shape for each.
constexpr std::array kColours{"#2e86c1", "#e69f00", "#009e73", "#cc79a7",
                              "#d55e00", "#56b4e9", "#8a8a8a"};
constexpr std::array kShapes{"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                             "M-4.5 -4.5h9v9h-9z",
                             "M0 -6L5.5 4.5h-11z",
                             "M0 -6.5L5 0L0 6.5L-5 0z",
                             "M0 6L5.5 -4.5h-11z",
                             "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
                             "M-6 -2.5h12v5h-12z"};
static_assert(kColours.size() == kMostSeries && kShapes.size() == kMostSeries);

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

}  // namespace

double gpus_of(const Line& line) {
  const double gpus = line.record->field_number("gpus").value_or(0);
  return gpus > 0 && gpus < 1e12 ? gpus : 0;
}

LogScale::LogScale(double low, double high, double margin, double from, double to)
    : low_(std::log10(low) - margin), high_(std::log10(high) + margin), from_(from), to_(to) {}

double LogScale::operator()(double value) const {
  return from_ + (to_ - from_) * (std::log10(value) - low_) / (high_ - low_);
}

double LogScale::lowest() const { return std::pow(10, low_); }
double LogScale::highest() const { return std::pow(10, high_); }

std::vector<double> LogScale::ticks() const {
  std::vector<double> out;
  for (int decade = static_cast<int>(std::floor(low_)); decade <= std::ceil(high_); ++decade)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = step * std::pow(10, decade);
      if (std::log10(tick) >= low_ && std::log10(tick) <= high_) out.push_back(tick);
    }
  return out;
}

std::string picture_head(std::string_view title, std::string_view heading, std::string_view below,
                         double height, double left) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">
<title>{2}</title>
<style>
svg {{ color: #222; font: 14px system-ui, sans-serif }}
@media (prefers-color-scheme: dark) {{ svg {{ color: #ddd }} }}
text {{ fill: currentColor }}
circle {{ fill-opacity: 0.65 }}
.small {{ font-size: 12px; opacity: 0.85 }}
.head {{ font-size: 17px; font-weight: 600 }}
.grid {{ stroke: currentColor; stroke-opacity: 0.14; fill: none }}
.frame, .tenth {{ stroke: currentColor; stroke-opacity: 0.5; fill: none }}
.exact {{ stroke: currentColor; stroke-opacity: 0.8; fill: none }}
.tenth {{ stroke-dasharray: 5 4 }}
.line {{ fill: none; stroke-opacity: 0.6 }}
.limits {{ fill: none; stroke-width: 2; stroke-opacity: 0.5 }}
.estimated {{ fill: none; stroke-width: 1.6 }}
</style>
<text class="head" x="{3}" y="30">{4}</text>
<text class="small" x="{3}" y="52">{5}</text>
)",
      kPictureWidth, height, title, left, heading, below);
}

std::string picture_head(const Page& page, std::string_view heading, double height) {
  const bool named = !page.title.empty();
  return picture_head(
      fmt::format("{}{}{}", heading, named ? ": " : "", escape(page.title, kLongestName)), heading,
      fmt::format("{}{}filled: measured, hollow: estimated with its 90 % range",
                  escape(page.title, 60), named ? " · " : ""),
      height);
}

std::string line_across(double y, double left, double right, const std::string& value) {
  return fmt::format(
      R"(<path class="grid" d="M{0} {1:.1f}H{2}"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>)"
      "\n",
      left, y, right, left - 8, y + 4, value);
}

std::string line_upright(double x, double top, double bottom, double value) {
  return fmt::format(
      R"(<path class="grid" d="M{0:.1f} {1}V{2}"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>)"
      "\n",
      x, top, bottom, bottom + 20, value);
}

std::string axis_label(double x, double y, std::string_view words) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, y, words);
}

std::string picture_foot(const std::string& note, double height) {
  if (note.empty()) return "</svg>\n";
  return fmt::format("<text class=\"small\" x=\"24\" y=\"{}\">{}</text>\n</svg>\n", height - 6,
                     escape(note));
}

std::string legend_entry(double x, double y, std::size_t place, std::string_view name,
                         std::size_t longest) {
  return fmt::format(
      R"_({}<path transform="translate({} {})" d="{}"/></g><text x="{}" y="{}">{}</text>)_"
      "\n",
      colour_group(place), x, y, kShapes[place], x + 16, y + 5,
      escape(name.empty() ? "runs" : name, longest));
}

std::string_view series_colour(std::size_t place) { return kColours[place % kColours.size()]; }

std::string colour_group(std::size_t place) {
  return fmt::format("<g stroke=\"{0}\" fill=\"{0}\">", series_colour(place));
}

std::string picture_mark(double x, double y, std::size_t place, const Line& line, bool measured) {
  const auto& days = measured ? line.numbers.days.measured : line.numbers.days.estimated;
  const auto* kind = measured ? "measured" : "estimated";
  return fmt::format(
      R"_(<path class="{0}" transform="translate({1:.1f} {2:.1f})" d="{3}"><title>{4}: {5} days {0}</title></path>)_"
      "\n",
      kind, x, y, kShapes[place], escape(line.record->id, kLongestName), shown(days->value));
}

std::string svg(const Page& page) {
  const auto lines = lines_of(page.records);
  const auto all = series_of(lines);
  const auto left = left_out(lines);
  if (all.empty())
    return picture_head(page, "Days per 100B tokens", 120) +
           fmt::format("<text x=\"24\" y=\"90\">{}</text>\n</svg>\n",
                       left.empty() ? "no run has days per 100B tokens and a number of GPUs"
                                    : "no run is left to show; " + left);
  std::set<double> gpus;
  for (const auto& series : all)
    for (const auto* line : series.lines) gpus.insert(gpus_of(*line));
  return gpus.size() > 1 ? picture_by_gpus(page, all, left) : picture_ranking(page, all, left);
}

}  // namespace orch::page
