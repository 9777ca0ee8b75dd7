#include "core/show/page/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "core/base/text.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using show::Chart;

constexpr double kWidth = 900, kLeft = 80, kLegend = 230, kRowLabel = 330, kRow = 26, kGap = 34;

// The colour-blind-safe palette of Okabe and Ito, without black and with a lighter blue: all
// colours are visible on light and dark backgrounds.
constexpr std::array kColours{"#2e86c1", "#e69f00", "#009e73", "#cc79a7",
                              "#d55e00", "#56b4e9", "#8a8a8a"};
// One shape for each colour.
constexpr std::array kShapes{"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                             "M-4.5 -4.5h9v9h-9z",
                             "M0 -6L5.5 4.5h-11z",
                             "M0 -6.5L5 0L0 6.5L-5 0z",
                             "M0 6L5.5 -4.5h-11z",
                             "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
                             "M-6 -2.5h12v5h-12z"};
static_assert(kShapes.size() == kColours.size());

const char* colour(std::size_t look) { return kColours[look % kColours.size()]; }
const char* shape(std::size_t look) { return kShapes[look % kShapes.size()]; }

std::string join_words(const std::string& label, const std::string& kind) {
  return label + (label.empty() || kind.empty() ? "" : " · ") + kind;
}

// Maps the values of an axis to coordinates; values beyond its ends are clamped.
struct AxisScale {
  const Chart::Axis& axis;
  double from = 0, to = 0;

  double operator()(double value) const {
    const double low = axis.low, high = axis.high, at = std::clamp(value, low, high);
    return from + (to - from) * (axis.is_log ? std::log(at / low) / std::log(high / low)
                                             : (at - low) / (high - low));
  }
};

// Draws a panel at its place in the picture.
class SvgDrawing {
 public:
  SvgDrawing(const Chart::Panel& panel, Chart::Kind kind, double top)
      : panel_(panel),
        kind_(kind),
        top_(top),
        x_{panel.x, has_rows() ? kRowLabel : kLeft,
           has_rows() ? kWidth - 60 : kWidth - kLegend - 20},
        bottom_(top + height()),
        y_{panel.y, bottom_, top} {}

  double bottom() const { return bottom_ + (panel_.x.title.empty() ? 0 : 48); }

  std::string text() {
    axes();
    for (const auto& rule : panel_.rules) line(rule);
    for (const auto& mark : panel_.marks) draw(mark);
    return std::move(out_);
  }

 private:
  bool has_rows() const { return !panel_.rows.empty(); }
  double wide() const { return x_.to - x_.from; }
  double height() const {
    return has_rows()         ? kRow * static_cast<double>(panel_.rows.size())
           : panel_.is_square ? wide()
                              : 300;
  }
  double y(double value) const { return has_rows() ? top_ + kRow * (value + 0.5) : y_(value); }

  template <class... Some>
  void add(fmt::format_string<Some...> form, Some&&... some) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Some>(some)...);
  }
  void words(double x, double y, const char* anchor, const std::string& text) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
        escape(text, 60));
  }

  void axes() {
    if (!panel_.title.empty()) words(x_.from, top_ - 8, "start", panel_.title);
    double last = -1e9;
    for (const auto& [value, text] : panel_.x.ticks) {
      if (x_(value) - last < 34) continue;
      last = x_(value);
      add(R"(<path class="grid" d="M{:.1f} {:.1f}V{:.1f}"/>)", last, top_, bottom_);
      if (!panel_.x.title.empty()) words(last, bottom_ + 20, "middle", text);
    }
    last = 1e9;
    for (const auto& [value, text] : panel_.y.ticks) {
      if (last - y(value) < 18) continue;
      last = y(value);
      add(R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)", x_.from, last, x_.to);
      words(x_.from - 8, last + 4, "end", text);
    }
    if (!panel_.x.title.empty())
      words((x_.from + x_.to) / 2, bottom_ + 42, "middle", panel_.x.title);
    if (!panel_.y.title.empty())
      add("<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
          x_.from - 54, (top_ + bottom_) / 2, escape(panel_.y.title));
    for (std::size_t i = 0; i < panel_.rows.size(); ++i) {
      const double at = y(static_cast<double>(i)) + 4;
      const auto& [label, kind, end] = panel_.rows[i];
      words(x_.from - 14, at, "end", show::cut(join_words(label, kind), 40));
      if (!end.empty()) words(x_.to + 6, at, "start", end);
    }
  }

  std::string path(const std::vector<Chart::Place>& places) const {
    std::string out;
    for (const auto& [a, b] : places)
      out += fmt::format("{}{:.1f} {:.1f}", out.empty() ? "M" : "L", x_(a), y(b));
    return out;
  }

  void line(const Chart::Rule& rule) {
    const bool of_series = rule.kind == "line";
    add("<path class=\"{}{}\"{} d=\"{}\"/>\n", rule.kind, rule.is_hollow ? " dashed" : "",
        of_series ? fmt::format(" stroke=\"{}\"", colour(rule.look)) : "", path(rule.line));
  }

  void draw(const Chart::Mark& mark) {
    const auto* kind = mark.is_hollow ? "estimated" : "measured";
    add("<g stroke=\"{0}\" fill=\"{0}\">", colour(mark.look));
    const auto title = fmt::format("<title>{}</title>", escape(mark.tooltip, kLongestName));
    if (!mark.line.empty()) {
      add(R"(<path class="line" d="{}">{}</path>)", path(mark.line), title);
    } else if (kind_ == Chart::Kind::bars) {
      add(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14">{}</rect>)", kind,
          x_(*mark.low), y(mark.y) - 7, x_(*mark.high) - x_(*mark.low), title);
    } else if (kind_ == Chart::Kind::grid) {
      const double wide = x_(1) - x_(0);
      add(R"(<rect class="cell" fill-opacity="{:.2f}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}">{}</rect>)",
          mark.shade ? 0.5 - 0.1 * static_cast<double>(*mark.shade) : 0, x_(mark.x) - wide / 2,
          y(mark.y) - kRow / 2, wide, kRow, title);
      words(x_(mark.x), y(mark.y) + 4, "middle", mark.words);
    } else {
      if (mark.low && has_rows())
        add(R"(<path class="limits" d="M{:.1f} {:.1f}H{:.1f}"/>)", x_(*mark.low), y(mark.y),
            x_(*mark.high));
      if (mark.low && !has_rows())
        add(R"(<path class="limits" d="M{:.1f} {:.1f}V{:.1f}"/>)", x_(mark.x), y(*mark.low),
            y(*mark.high));
      add(R"_(<path class="{}{}" transform="translate({:.1f} {:.1f}){}" d="{}">{}</path>)_", kind,
          mark.is_faint ? " faint" : "", x_(mark.x), y(mark.y), mark.is_faint ? " scale(0.7)" : "",
          shape(mark.look), title);
    }
    out_ += "</g>\n";
  }

  const Chart::Panel& panel_;
  Chart::Kind kind_;
  double top_;
  AxisScale x_;
  double bottom_;
  AxisScale y_;
  std::string out_;
};

std::string svg_head(const Chart& chart, double height) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}" role="img">
<title>{2}</title>
<style>
svg {{ color: #222; font: 14px system-ui, sans-serif }}
@media (prefers-color-scheme: dark) {{ svg {{ color: #ddd }} }}
text {{ fill: currentColor; stroke: none }}
.small {{ font-size: 12px; opacity: 0.85 }}
.head {{ font-size: 17px; font-weight: 600 }}
.grid {{ stroke: currentColor; stroke-opacity: 0.14; fill: none }}
.exact, .limit, .tenth {{ stroke: currentColor; stroke-opacity: 0.7; fill: none }}
.tenth, .dashed {{ stroke-dasharray: 5 4 }}
.ground {{ stroke: currentColor; stroke-opacity: 0.12; stroke-width: 6; fill: none }}
.line {{ fill: none; stroke-opacity: 0.6 }}
.limits {{ fill: none; stroke-width: 2; stroke-opacity: 0.5 }}
.faint {{ fill-opacity: 0.65 }}
.estimated {{ fill: none; stroke-width: 1.6 }}
</style>
<text class="head" x="24" y="30">{2}</text>
<text class="small" x="24" y="52">{3}</text>
)",
      kWidth, height, escape(chart.title), escape(show::cut(chart.finding, 130)));
}

std::string sample_svg(const Chart::Sample& sample, double x, double y) {
  if (sample.kind == "exact" || sample.kind == "tenth" || sample.kind == "limit")
    return fmt::format(R"(<path class="{}" d="M{} {}h20"/>)", sample.kind, x - 10, y);
  const bool is_hollow = sample.kind.starts_with("hollow");
  const auto* paint =
      sample.kind == "filled" || sample.kind == "hollow" ? "currentColor" : colour(sample.look);
  return fmt::format(
      R"_(<path class="{}" stroke="{}" fill="{}" transform="translate({} {})" d="{}"/>)_",
      is_hollow ? "estimated" : "measured", paint, is_hollow ? "none" : paint, x, y,
      shape(sample.look));
}

std::string legend_svg(const Chart::Sample& each, double x, double y) {
  auto out = sample_svg(each, x, y) + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 16,
                                                  y + 5, escape(each.words, 40));
  if (!each.below.empty())
    out += fmt::format("<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>\n", x + 16, y + 22,
                       escape(each.below, 40));
  return out;
}

}  // namespace

std::string svg_of(const Chart& chart) {
  const bool has_rows = !chart.panels.empty() && !chart.panels[0].rows.empty();
  double y = 82, x = 30;
  std::string legend, body;
  for (const auto& each : chart.legend) {
    const double wide =
        40 + 8.0 * static_cast<double>(std::min<std::size_t>(each.words.size(), 40));
    if (has_rows && x + wide > kWidth) x = 30, y += 24;
    legend += legend_svg(each, has_rows ? x : kWidth - kLegend + 10, y);
    has_rows ? x += wide : y += each.below.empty() ? 24 : 44;
  }
  double top = has_rows ? y + 30 : 74;
  for (const auto& panel : chart.panels) {
    SvgDrawing drawn(panel, chart.kind, top);
    body += drawn.text();
    top = drawn.bottom() + kGap;
  }
  double height = std::max(top, has_rows ? 0 : y);
  for (const auto& line : split(trim(show::wrap(chart.note, {.width = 130})), '\n')) {
    body += fmt::format("<text class=\"small\" x=\"24\" y=\"{:.0f}\">{}</text>\n", height,
                        escape(line));
    height += 18;
  }
  return svg_head(chart, height) + legend + body + "</svg>\n";
}

}  // namespace orch::page
