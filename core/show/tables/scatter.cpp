#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/text.h"
#include "core/show/tables/validation.h"

namespace orch::tables {
namespace {

using published::Judged;

// The colours of Okabe and Ito, told apart by most eyes, without black and with a lighter blue:
// they show on light and on dark.
constexpr std::array kColours{"#2e86c1", "#e69f00", "#009e73", "#cc79a7",
                              "#d55e00", "#56b4e9", "#8a8a8a"};

// The square of predicted against measured, and below it the errors, which would be lost there.
constexpr double kLeft = 80, kTop = 74, kSide = 560, kBottom = kTop + kSide;
constexpr double kErrorsTop = kBottom + 34, kErrorsHeight = 270;
constexpr double kErrorsBottom = kErrorsTop + kErrorsHeight;
constexpr double kWidth = 900, kHeight = kErrorsBottom + 66;

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// One logarithmic scale for both axes, so that the diagonal is one.
class Scale {
 public:
  Scale(double low, double high) : low_(std::log10(low)), high_(std::log10(high)) {
    const double margin = std::max(0.05, (1 - (high_ - low_)) / 2);  // a decade at least
    low_ -= margin;
    high_ += margin;
  }

  double share(double value) const { return (std::log10(value) - low_) / (high_ - low_); }
  double x(double value) const { return kLeft + kSide * share(value); }
  double y(double value) const { return kTop + kSide * (1 - share(value)); }
  bool holds(double value) const { return share(value) >= 0 && share(value) <= 1; }
  double lowest() const { return std::pow(10, low_); }
  double highest() const { return std::pow(10, high_); }

  // 1, 2 and 5 of each decade.
  std::vector<double> ticks() const {
    std::vector<double> out;
    for (int decade = static_cast<int>(std::floor(low_)); decade <= std::ceil(high_); ++decade)
      for (const double step : {1.0, 2.0, 5.0})
        if (const double tick = step * std::pow(10, decade); holds(tick)) out.push_back(tick);
    return out;
  }

 private:
  double low_, high_;  // decimal logarithms
};

// Errors in percent, from a multiple of ten to another, with zero and a few tens between.
class ErrorScale {
 public:
  ErrorScale(double low, double high)
      : low_(std::min(-20.0, 10 * std::floor(low / 10 - 0.2))),
        high_(std::max(20.0, 10 * std::ceil(high / 10 + 0.2))) {}

  double y(double error) const {
    return kErrorsBottom - kErrorsHeight * (error - low_) / (high_ - low_);
  }

  // Tens, or so many of them that there are about ten.
  std::vector<double> ticks() const {
    const double step = 10 * std::ceil((high_ - low_) / 110);
    std::vector<double> out;
    for (double tick = step * std::ceil(low_ / step); tick <= high_; tick += step)
      out.push_back(tick);
    return out;
  }

 private:
  double low_, high_;
};

std::string frame(double top, double height) {
  return fmt::format(R"(<rect class="frame" x="{}" y="{}" width="{}" height="{}"/>)"
                     "\n",
                     kLeft, top, kSide, height);
}

std::string upright(double y, const char* text) {
  return fmt::format(
      R"_(<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>)_"
      "\n",
      kLeft - 52, y, text);
}

// A line of the grid across, with its value on the left.
std::string across(double y, const std::string& value, const char* kind) {
  return fmt::format(
      R"(<path class="{0}" d="M{1} {2:.1f}H{3}"/><text x="{4}" y="{5:.1f}" text-anchor="end">{6}</text>)"
      "\n",
      kind, kLeft, y, kLeft + kSide, kLeft - 8, y + 4, value);
}

std::string axes(const Scale& scale, const ErrorScale& errors) {
  std::string out;
  for (const double tick : scale.ticks()) {
    out += across(scale.y(tick), fmt::format("{:g}", tick), "grid");
    out += fmt::format(R"(<path class="grid" d="M{0:.1f} {1}V{2}M{0:.1f} {3}V{4}"/>)"
                       R"(<text x="{0:.1f}" y="{5}" text-anchor="middle">{6:g}</text>)"
                       "\n",
                       scale.x(tick), kTop, kBottom, kErrorsTop, kErrorsBottom, kErrorsBottom + 20,
                       tick);
  }
  for (const double tick : errors.ticks())
    out += across(errors.y(tick), tick == 0 ? "0" : fmt::format("{:+g}", tick), "grid");
  for (const double off : {-10.0, 10.0})
    out +=
        fmt::format("<path class=\"tenth\" d=\"M{} {:.1f}h{}\"/>\n", kLeft, errors.y(off), kSide);
  out += fmt::format("<path class=\"exact\" d=\"M{} {:.1f}h{}\"/>\n", kLeft, errors.y(0), kSide);
  out += frame(kTop, kSide) + frame(kErrorsTop, kErrorsHeight);
  out += upright(kTop + kSide / 2, "predicted seconds per step");
  out += upright(kErrorsTop + kErrorsHeight / 2, "error in percent");
  return out +
         fmt::format(R"(<text x="{}" y="{}" text-anchor="middle">measured seconds per step</text>)"
                     "\n",
                     kLeft + kSide / 2, kErrorsBottom + 46);
}

// predicted = factor * measured, inside the frame.
std::string line(const Scale& scale, double factor, const char* kind) {
  const double from = std::max(scale.lowest(), scale.lowest() / factor);
  const double to = std::min(scale.highest(), scale.highest() / factor);
  return fmt::format(R"(<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)"
                     "\n",
                     kind, scale.x(from), scale.y(factor * from), scale.x(to),
                     scale.y(factor * to));
}

// The points of one source, or of its rows that are shown apart: those are hollow.
struct Series {
  const char* colour = "";
  bool hollow = false;
  std::vector<const Judged*> rows = {};

  std::string fill() const { return hollow ? "none" : colour; }
};

// Each row twice: in the square, and as an error below.
std::string points(const Scale& scale, const ErrorScale& errors, const Series& series) {
  auto out = fmt::format("<g fill=\"{}\" stroke=\"{}\">\n", series.fill(), series.colour);
  for (const auto* row : series.rows) {
    const auto title =
        fmt::format("{}: measured {:.4g} s, predicted {:.4g} s, {:+.1f} %", escape(row->sample->id),
                    *row->sample->step_seconds, row->prediction.step_seconds, row->error());
    const double x = scale.x(*row->sample->step_seconds);
    for (const double y : {scale.y(row->prediction.step_seconds), errors.y(row->error())})
      out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}</title></circle>)"
                         "\n",
                         x, y, title);
  }
  return out + "</g>\n";
}

std::string legend_entry(std::size_t place, const std::string& name, const published::Score& score,
                         const Series& series) {
  const double x = kLeft + kSide + 28, y = kTop + 14 + 44 * static_cast<double>(place);
  return fmt::format(
      R"(<circle cx="{0}" cy="{1}" r="5" fill="{2}" stroke="{3}"/><text x="{4}" y="{5}">{6}</text>)"
      R"(<text class="small" x="{4}" y="{7}">{8} row{9}, mean error {10:.1f} %</text>)"
      "\n",
      x, y, series.fill(), series.colour, x + 14, y + 5, escape(name), y + 22, score.n,
      score.n == 1 ? "" : "s", score.mape.value_or(0));
}

// By the names that the scores have.
std::map<std::string, Series> all_series(const Validation& v) {
  std::map<std::string, const char*> colours;
  for (const auto& row : v.rows) colours[row.sample->source] = "";
  std::size_t next = 0;
  for (auto& [source, colour] : colours) colour = kColours[next++ % kColours.size()];
  std::map<std::string, Series> out;
  for (const auto& row : v.rows) {
    if (!row.has_time()) continue;
    auto& series = out[published::shown_source(*row.sample, v.apart)];
    series.colour = colours[row.sample->source];
    series.hollow = v.apart.contains(row.sample->id);
    series.rows.push_back(&row);
  }
  return out;
}

// From the shortest to the longest time, measured or predicted.
Scale scale_of(const std::map<std::string, Series>& all) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& [name, series] : all)
    for (const auto* row : series.rows) {
      low = std::min({low, *row->sample->step_seconds, row->prediction.step_seconds});
      high = std::max({high, *row->sample->step_seconds, row->prediction.step_seconds});
    }
  return {low, high};
}

ErrorScale error_scale_of(const std::map<std::string, Series>& all) {
  double low = 0, high = 0;
  for (const auto& [name, series] : all)
    for (const auto* row : series.rows) {
      low = std::min(low, row->error());
      high = std::max(high, row->error());
    }
  return {low, high};
}

std::string how(const std::string& calibrate) {
  const std::map<std::string, std::string> known{
      {"none", "constants as shipped"},
      {"datasheet", "constants from datasheets, nothing fitted"},
      {"first", "one factor from each table's first row"},
      {"loto", "constants fitted without the table (or fifth of a source) that a row is in"},
      {"loso", "constants fitted without the source that a row is in"}};
  const auto found = known.find(calibrate);
  return found == known.end() ? "calibrated: " + escape(calibrate) : found->second;
}

std::string head() {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img">
<title>Predicted against measured step time</title>
<style>
svg {{ color: #222; font: 14px system-ui, sans-serif }}
@media (prefers-color-scheme: dark) {{ svg {{ color: #ddd }} }}
text {{ fill: currentColor }}
.small {{ font-size: 12px; opacity: 0.8 }}
.head {{ font-size: 17px; font-weight: 600 }}
.grid {{ stroke: currentColor; stroke-opacity: 0.12; fill: none }}
.frame {{ stroke: currentColor; stroke-opacity: 0.5; fill: none }}
.exact {{ stroke: currentColor; stroke-opacity: 0.8; fill: none }}
.tenth {{ stroke: currentColor; stroke-opacity: 0.5; stroke-dasharray: 5 4; fill: none }}
circle {{ fill-opacity: 0.65 }}
</style>
)",
      kWidth, kHeight);
}

}  // namespace

std::string scatter_svg(const Validation& v) {
  const auto all = all_series(v);
  auto out = head();
  out += fmt::format(
      "<text class=\"head\" x=\"{}\" y=\"32\">Predicted against measured step time</text>\n",
      kLeft);
  out +=
      fmt::format("<text class=\"small\" x=\"{}\" y=\"54\">{}</text>\n", kLeft, how(v.calibrate));
  if (all.empty())
    return out +
           fmt::format("<text x=\"{}\" y=\"90\">no row has a step time</text>\n</svg>\n", kLeft);
  const auto scale = scale_of(all);
  const auto errors = error_scale_of(all);
  out += axes(scale, errors) + line(scale, 1, "exact") + line(scale, 1.1, "tenth") +
         line(scale, 1 / 1.1, "tenth");
  std::size_t place = 0;
  for (const auto& [name, series] : all) {
    out += points(scale, errors, series);
    out += legend_entry(place++, name, v.scores.by_source.at(name), series);
  }
  const double x = kLeft + kSide + 18, y = kTop + 14 + 44 * static_cast<double>(place);
  out += fmt::format(
      R"(<path class="exact" d="M{0} {1}h20"/><text class="small" x="{2}" y="{3}">exact</text>)"
      R"(<path class="tenth" d="M{0} {4}h20"/><text class="small" x="{2}" y="{5}">10 % off</text>)"
      "\n</svg>\n",
      x, y, x + 26, y + 4, y + 22, y + 26);
  return out;
}

}  // namespace orch::tables
