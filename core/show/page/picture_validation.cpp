// Estimates beside measurements: each row as a point, and its error below.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/show/page/picture.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using published::Judged;

// The square of predicted against measured, and below it the errors, which would be lost there.
constexpr double kSquareLeft = 80, kSquareTop = 74, kSide = 560, kSquareBottom = kSquareTop + kSide;
constexpr double kErrorsTop = kSquareBottom + 34, kErrorsHeight = 270;
constexpr double kErrorsBottom = kErrorsTop + kErrorsHeight;

// One logarithmic scale for both axes, so that the diagonal is one.
struct Square {
  LogScale x, y;

  // A decade at least.
  static Square of(double low, double high) {
    const double margin = std::max(0.05, (1 - std::log10(high / low)) / 2);
    return {{low, high, margin, kSquareLeft, kSquareLeft + kSide},
            {low, high, margin, kSquareBottom, kSquareTop}};
  }
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
                     kSquareLeft, top, kSide, height);
}

std::string upright(double y, const char* text) {
  return fmt::format(
      R"_(<text transform="translate({} {}) rotate(-90)" text-anchor="middle">{}</text>)_"
      "\n",
      kSquareLeft - 52, y, text);
}

std::string level(double y, const char* kind) {
  return fmt::format("<path class=\"{}\" d=\"M{} {:.1f}h{}\"/>\n", kind, kSquareLeft, y, kSide);
}

std::string axes(const Square& square, const ErrorScale& errors) {
  constexpr double kRight = kSquareLeft + kSide;
  std::string out;
  for (const double tick : square.x.ticks()) {
    out += line_across(square.y(tick), kSquareLeft, kRight, fmt::format("{:g}", tick));
    out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {}V{}\"/>", square.x(tick), kSquareTop,
                       kSquareBottom);
    out += line_upright(square.x(tick), kErrorsTop, kErrorsBottom, tick);
  }
  for (const double tick : errors.ticks())
    out += line_across(errors.y(tick), kSquareLeft, kRight,
                       tick == 0 ? "0" : fmt::format("{:+g}", tick));
  out += level(errors.y(-10), "tenth") + level(errors.y(10), "tenth") + level(errors.y(0), "exact");
  out += frame(kSquareTop, kSide) + frame(kErrorsTop, kErrorsHeight);
  out += upright(kSquareTop + kSide / 2, "predicted seconds per step");
  out += upright(kErrorsTop + kErrorsHeight / 2, "error in percent");
  return out + axis_label(kSquareLeft + kSide / 2, kErrorsBottom + 46, "measured seconds per step");
}

// predicted = factor * measured, inside the frame.
std::string line(const Square& square, double factor, const char* kind) {
  const double from = std::max(square.x.lowest(), square.x.lowest() / factor);
  const double to = std::min(square.x.highest(), square.x.highest() / factor);
  return fmt::format(R"(<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)"
                     "\n",
                     kind, square.x(from), square.y(factor * from), square.x(to),
                     square.y(factor * to));
}

// The points of one source, or of its rows that are shown apart: those are hollow.
struct Source {
  std::string_view colour;
  bool hollow = false;
  std::vector<const Judged*> rows = {};

  std::string_view fill() const { return hollow ? "none" : colour; }
};

// Each row twice: in the square, and as an error below.
std::string points(const Square& square, const ErrorScale& errors, const Source& series) {
  auto out = fmt::format("<g fill=\"{}\" stroke=\"{}\">\n", series.fill(), series.colour);
  for (const auto* row : series.rows) {
    const auto title =
        fmt::format("{}: measured {:.4g} s, predicted {:.4g} s, {:+.1f} %", escape(row->sample->id),
                    *row->sample->step_seconds, row->prediction.step_seconds, row->error());
    const double x = square.x(*row->sample->step_seconds);
    for (const double y : {square.y(row->prediction.step_seconds), errors.y(row->error())})
      out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}</title></circle>)"
                         "\n",
                         x, y, title);
  }
  return out + "</g>\n";
}

std::string source_entry(std::size_t place, const std::string& name, const published::Score& score,
                         const Source& series) {
  const double x = kSquareLeft + kSide + 28, y = kSquareTop + 14 + 44 * static_cast<double>(place);
  return fmt::format(
      R"(<circle cx="{0}" cy="{1}" r="5" fill="{2}" stroke="{3}"/><text x="{4}" y="{5}">{6}</text>)"
      R"(<text class="small" x="{4}" y="{7}">{8} row{9}, mean error {10:.1f} %</text>)"
      "\n",
      x, y, series.fill(), series.colour, x + 14, y + 5, escape(name), y + 22, score.n,
      score.n == 1 ? "" : "s", score.mape.value_or(0));
}

// By the names that the scores have.
std::map<std::string, Source> sources_of(const std::vector<Judged>& rows,
                                         const std::set<std::string>& apart) {
  std::map<std::string, std::size_t> places;
  for (const auto& row : rows) places[row.sample->source] = 0;
  std::size_t next = 0;
  for (auto& [source, place] : places) place = next++;
  std::map<std::string, Source> out;
  for (const auto& row : rows) {
    if (!row.has_time()) continue;
    auto& source = out[published::shown_source(*row.sample, apart)];
    source.colour = kColours[places[row.sample->source] % kColours.size()];
    source.hollow = apart.contains(row.sample->id);
    source.rows.push_back(&row);
  }
  return out;
}

// From the shortest to the longest time, measured or predicted.
Square square_of(const std::map<std::string, Source>& all) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& [name, series] : all)
    for (const auto* row : series.rows) {
      low = std::min({low, *row->sample->step_seconds, row->prediction.step_seconds});
      high = std::max({high, *row->sample->step_seconds, row->prediction.step_seconds});
    }
  return Square::of(low, high);
}

ErrorScale error_scale_of(const std::map<std::string, Source>& all) {
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

}  // namespace

std::string svg(const std::vector<Judged>& rows, const std::set<std::string>& apart,
                const published::Scores& scores, const std::string& calibrate) {
  constexpr std::string_view kHeading = "Predicted against measured step time";
  const auto all = sources_of(rows, apart);
  auto out = picture_head(kHeading, kHeading, how(calibrate), kErrorsBottom + 66, kSquareLeft);
  if (all.empty())
    return out + fmt::format("<text x=\"{}\" y=\"90\">no row has a step time</text>\n</svg>\n",
                             kSquareLeft);
  const auto square = square_of(all);
  const auto errors = error_scale_of(all);
  out += axes(square, errors) + line(square, 1, "exact") + line(square, 1.1, "tenth") +
         line(square, 1 / 1.1, "tenth");
  std::size_t place = 0;
  for (const auto& [name, series] : all) {
    out += points(square, errors, series);
    out += source_entry(place++, name, scores.by_source.at(name), series);
  }
  const double x = kSquareLeft + kSide + 18, y = kSquareTop + 14 + 44 * static_cast<double>(place);
  return out +
         fmt::format(
             R"(<path class="exact" d="M{0} {1}h20"/><text class="small" x="{2}" y="{3}">exact</text>)"
             R"(<path class="tenth" d="M{0} {4}h20"/><text class="small" x="{2}" y="{5}">10 % off</text>)"
             "\n</svg>\n",
             x, y, x + 26, y + 4, y + 22, y + 26);
}

}  // namespace orch::page
