#include "core/show/page/picture.h"

#include <fmt/format.h>

#include <cmath>

namespace orch::page {

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

}  // namespace orch::page
