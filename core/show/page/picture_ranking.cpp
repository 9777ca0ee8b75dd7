// Where all runs have as many GPUs: the best of them, one below the other.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/show/page/picture.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

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
    for (const auto* line : all[place].lines)
      out.push_back({line, place});
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
  auto out = fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kBarsLeft - 14,
                         y + 5, escape(run_name(*run.line->record), 38));
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

}  // namespace

std::string picture_ranking(const Page& page, const std::vector<Series>& all,
                            const std::string& note) {
  const auto runs = ranked(all);
  const double bottom = kBarsTop + kRow * static_cast<double>(runs.size());
  auto out = picture_head(page, "Days per 100B tokens", bottom + 60);
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

}  // namespace orch::page
