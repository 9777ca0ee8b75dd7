// The charts over the steps of a run: loss, seconds per step, peak memory so far, power and use of
// the GPUs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/record.h"
#include "core/record/statistics/interval.h"
#include "core/record/thinned.h"
#include "core/show/page/curves.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

using record::StepPoint;

PlottedCurve curve_of(const PageLine& line, const std::vector<StepPoint>& points, double unit) {
  PlottedCurve out{&line};
  std::vector<double> steps;
  for (const auto& point : points)
    if (std::isfinite(point.value) && point.value > 0) {
      steps.push_back(static_cast<double>(point.step));
      out.points.emplace_back(steps.back(), point.value / unit);
    }
  add_resumes(out, steps);
  return out;
}

// The loss by tokens, or by steps if the tokens of a run are unknown.
PlottedCurve curve_of_loss(const PageLine& line, bool by_tokens) {
  PlottedCurve out{&line};
  std::vector<double> steps;
  for (const auto& point :
       record::thinned(line.record->measured.losses, &record::LossPoint::loss, kPoints))
    if (std::isfinite(point.loss) && std::isfinite(point.tokens)) {
      steps.push_back(static_cast<double>(point.step));
      out.points.emplace_back(by_tokens ? point.tokens : steps.back(), point.loss);
    }
  add_resumes(out, steps);
  return out;
}

// Runs whose loss became NaN are named as the best only if there are no others.
std::string loss_finding(const std::vector<PlottedCurve>& curves, bool by_tokens) {
  std::set<std::string> models;
  std::vector<std::string> words;
  const PlottedCurve* best = nullptr;
  std::size_t resumes = 0;
  const auto key = [](const PlottedCurve& curve) {
    return std::pair(!record::nan_text(curve.line->record->measured).empty(),
                     curve.points.back().second);
  };
  for (const auto& curve : curves) {
    models.insert(model_of(*curve.line->record));
    words.push_back(shown(curve.points.back().second) + " of " + short_name(*curve.line));
    if (best == nullptr || key(curve) < key(*best)) best = &curve;
    resumes += curve.resumes.size();
  }
  words.resize(std::min(words.size(), std::size_t{4}));
  if (models.size() > 1)
    return fmt::format("Last losses, of different models: {}.", and_list(words));
  const auto [at, loss] = best->points.back();
  return fmt::format("Lowest last loss: {} of {} at {}.{}", shown(loss), short_name(*best->line),
                     by_tokens ? format_tokens(at) + " tokens" : "step " + shown(at),
                     resumes > 0 ? " " + plural(resumes, "resume") + " marked." : "");
}

std::string nan_note(const ChartRuns& runs) {
  std::vector<std::string> out;
  for (const auto& line : runs.lines)
    if (const auto nan = record::nan_text(line.record->measured); !nan.empty())
      out.push_back(short_name(line) + ": " + nan);
  return out.empty() ? "" : show::cut(and_list(out), 400) + ".";
}

// True for the first step after a start, which is always slow: it compiles, allocates and connects.
bool is_start(const PlottedCurve& curve, const Chart::Place& point) {
  return point == curve.points.front() ||
         std::ranges::any_of(curve.line->record->measured.resumes, [&](const auto step) {
           return static_cast<double>(step) == point.first;
         });
}

double median_level(const PlottedCurve& curve) {
  std::vector<double> values;
  for (const auto& [step, seconds] : curve.points) values.push_back(seconds);
  return statistics::median(values);
}

std::string pace_finding(const std::vector<PlottedCurve>& curves) {
  const PlottedCurve* slowest = nullptr;
  Chart::Place at;
  double most = 0;
  for (const auto& curve : curves) {
    const auto& step = curve.line->numbers.step.measured;
    const double usual = step ? step->value : median_level(curve);
    const bool only_starts = std::ranges::all_of(
        curve.points, [&](const Chart::Place& point) { return is_start(curve, point); });
    for (const auto& point : curve.points)
      if ((only_starts || !is_start(curve, point)) && point.second / usual > most)
        slowest = &curve, at = point, most = point.second / usual;
  }
  const auto what = fmt::format("{} s at step {} of {}", shown(at.second), shown(at.first),
                                short_name(*slowest->line));
  return most < 1.05
             ? fmt::format("Steady: no step takes 5 % more than the median of its run ({}).", what)
             : fmt::format(
                   "The slowest step beside the median of its run: {}, {:.2f} times as long.", what,
                   most);
}

// The highest value that the axis needs to show. Starts, a stall of an hour or a spike of the loss
// would compress all other steps. A loss may be negative.
double usual_level(const std::vector<PlottedCurve>& curves) {
  std::vector<double> values;
  for (const auto& curve : curves)
    for (const auto& point : curve.points)
      if (!is_start(curve, point)) values.push_back(point.second);
  if (values.size() < 10) return 1e300;
  const double low = statistics::quantile(values, 0.05), high = statistics::quantile(values, 0.95);
  return high > 0 ? 4 * high : high + 4 * std::max(high - low, 1e-3 * std::abs(high));
}

std::string peaks_finding(const std::vector<PlottedCurve>& curves) {
  const auto growth = [](const PlottedCurve& c) {
    return c.points.back().second / c.points[0].second;
  };
  const auto& most = *std::ranges::max_element(curves, {}, growth);
  const auto& rise = most.line->record->measured.peaks.back().step;
  return fmt::format("Rises most: {}, from {} GiB at step {} to {} GiB at step {} ({:+.1f} %).",
                     short_name(*most.line), shown(most.points[0].second),
                     shown(most.points[0].first), shown(most.points.back().second),
                     shown(static_cast<double>(rise)), 100 * (growth(most) - 1));
}

// "On average: 612 W of r1 and 580 W of r2."
std::string average_finding(const std::vector<PlottedCurve>& curves, const char* quantity,
                            const char* unit, double scale) {
  std::vector<std::string> words;
  for (const auto& curve : curves) {
    const auto& stated = curve.line->record->measured.stated;
    if (const auto mean = stated.find(quantity); mean != stated.end())
      words.push_back(
          fmt::format("{} {} of {}", shown(mean->second / scale), unit, short_name(*curve.line)));
  }
  words.resize(std::min(words.size(), std::size_t{4}));
  return words.empty() ? "" : "On average: " + and_list(words) + ".";
}

template <class Make>  // Make: line -> curve
std::vector<PlottedCurve> curves_of(const std::vector<const PageLine*>& lines, Make make) {
  std::vector<PlottedCurve> out;
  for (const auto* line : lines)
    if (auto curve = make(*line); curve.points.size() > 1) out.push_back(std::move(curve));
  return out;
}

}  // namespace

Chart loss_chart(const ChartRuns& runs) {
  const auto [lines, all] = longest(runs);
  const auto with = [&](bool by_tokens) {
    return curves_of(lines, [&](const PageLine& line) { return curve_of_loss(line, by_tokens); });
  };
  auto curves = with(true);
  const bool by_tokens = std::ranges::all_of(
      curves, [](const PlottedCurve& curve) { return curve.points.back().first > 0; });
  if (!by_tokens) curves = with(false);
  if (curves.empty()) return {};
  Chart out{.name = "loss", .title = "Loss", .finding = loss_finding(curves, by_tokens)};
  draw_curves(out, runs, curves, {by_tokens ? "tokens" : "steps", "loss", usual_level(curves)});
  out.note = sentences({of_how_many(all), nan_note(runs)});
  out.data = {{"Run", by_tokens ? "Tokens" : "Step", "Loss"}};
  add_data(out, curves);
  return out;
}

// Shows runs that slow down, stall or restart.
Chart pace_chart(const ChartRuns& runs) {
  const auto [lines, all] = longest(runs);
  const auto curves = curves_of(lines, [](const PageLine& line) {
    const auto& times = line.record->measured.step_times;
    return curve_of(line, record::thinned(times, &StepPoint::value, kPoints), 1);
  });
  if (curves.empty()) return {};
  Chart out{.name = "pace", .title = "Step time over the run", .finding = pace_finding(curves)};
  draw_curves(out, runs, curves, {"steps", "seconds per step", usual_level(curves)});
  const bool thinned = std::ranges::any_of(curves, [](const PlottedCurve& curve) {
    return curve.line->record->measured.step_times.size() > kPoints;
  });
  out.note = sentences(
      {thinned ? "Of many steps the fastest and the slowest of each stretch are drawn." : "",
       of_how_many(all)});
  out.data = {{"Run", "Step", "Seconds"}};
  add_data(out, curves);
  return out;
}

// Shows runs whose memory keeps rising and may run out. A curve is extended to the last step,
// because a peak stays constant after its last rise.
Chart peaks_chart(const ChartRuns& runs) {
  const auto [lines, all] = longest(runs);
  const auto curves = curves_of(lines, [](const PageLine& line) {
    auto out = curve_of(line, line.record->measured.peaks, kGiB);
    const auto end = static_cast<double>(last_step(line.record->measured));
    if (out.points.size() > 1 && end > out.points.back().first)
      out.points.emplace_back(end, out.points.back().second);
    for (std::size_t i = out.points.size(); i-- > 1;)  // a step curve
      out.points.insert(out.points.begin() + static_cast<std::ptrdiff_t>(i),
                        {out.points[i].first, out.points[i - 1].second});
    return out;
  });
  if (curves.empty()) return {};
  Chart out{.name = "peaks", .title = "Memory over the run", .finding = peaks_finding(curves)};
  draw_curves(out, runs, curves, {"steps", "GiB, peak so far"});
  out.note = of_how_many(all);
  out.data = {{"Run", "Step", "GiB"}};
  add_data(out, curves);
  return out;
}

// A chart of what the supervisor of a run sampled on its GPUs.
static Chart gpu_chart(const ChartRuns& runs, Chart out,
                       const std::vector<StepPoint> record::Measurement::*points,
                       const char* quantity, const char* unit, double scale) {
  const auto [lines, all] = longest(runs);
  const auto curves = curves_of(lines, [&](const PageLine& line) {
    return curve_of(line, line.record->measured.*points, scale);
  });
  if (curves.empty()) return {};
  out.finding = average_finding(curves, quantity, unit, scale);
  draw_curves(out, runs, curves, {"steps", fmt::format("{} of a GPU", unit)});
  out.note =
      sentences({"The mean of the run's GPUs, each time over about a second.", of_how_many(all)});
  out.data = {{"Run", "Step", unit}};
  add_data(out, curves);
  return out;
}

Chart power_chart(const ChartRuns& runs) {
  return gpu_chart(runs, {.name = "power", .title = "Power over the run"},
                   &record::Measurement::gpu_watts, "gpu_watts", "W", 1);
}

Chart use_chart(const ChartRuns& runs) {
  return gpu_chart(runs, {.name = "use", .title = "Use of the GPUs over the run"},
                   &record::Measurement::gpu_use, "gpu_use", "%", 0.01);
}

}  // namespace orch::page
