// Scaling efficiency: tokens per second per GPU, relative to the run on the fewest GPUs. Only runs
// of one family are compared: they agree in all settings except the number of GPUs, and have the
// same global batch (strong scaling) or the same batch per rank (weak scaling). For each strategy
// and model the chart shows the family with the most measured marks.

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

struct Throughput {
  const PageLine* line = nullptr;
  bool is_measured = false;
  double per_gpu = 0;  // tokens per second
  double share = 0;    // relative to the fewest GPUs
};

struct ScalingFamily {
  bool is_strong = false;
  std::vector<Throughput> measured, estimated;  // in order of GPUs

  std::size_t size() const { return measured.size() + estimated.size(); }
  const std::vector<Throughput>& best() const { return measured.empty() ? estimated : measured; }
};

// The fastest run for each number of GPUs; empty if there are fewer than two numbers.
std::vector<Throughput> throughput_of(const std::vector<const PageLine*>& members,
                                      bool is_measured) {
  std::map<double, Throughput> fastest;
  for (const auto* line : members) {
    const auto& rate = is_measured ? line->numbers.rate.measured : line->numbers.rate.estimated;
    if (!rate) continue;
    const Throughput point{line, is_measured, rate->value / line->gpus, 0};
    const auto [held, is_new] = fastest.try_emplace(line->gpus, point);
    if (!is_new && point.per_gpu > held->second.per_gpu) held->second = point;
  }
  std::vector<Throughput> out;
  if (fastest.size() < 2) return out;
  for (auto& [gpus, point] : fastest) {
    point.share = point.per_gpu / fastest.begin()->second.per_gpu;
    out.push_back(point);
  }
  return out;
}

std::vector<ScalingFamily> families_of(const std::vector<const PageLine*>& some) {
  std::vector<ScalingFamily> out;
  for (const auto by : {&PageLine::strong, &PageLine::weak}) {
    std::map<std::size_t, std::vector<const PageLine*>> groups;
    for (const auto* line : some)
      if (line->*by != 0) groups[line->*by].push_back(line);
    for (const auto& [number, members] : groups) {
      ScalingFamily family{by == &PageLine::strong, throughput_of(members, true),
                           throughput_of(members, false)};
      if (family.size() > 0) out.push_back(std::move(family));
    }
  }
  return out;
}

// Orders families by number of measured marks, then by number of all marks, then by speed.
bool is_larger(const ScalingFamily& a, const ScalingFamily& b) {
  const auto rank = [](const ScalingFamily& family) {
    double most = 0;
    for (const auto* points : {&family.measured, &family.estimated})
      for (const auto& point : *points) most = std::max(most, point.per_gpu);
    return std::tuple(family.measured.size(), family.size(), most);
  };
  return rank(a) > rank(b);
}

struct Scaling {
  ScalingFamily family;
  std::size_t others = 0;  // number of families not drawn
};

// The family to draw for each series. Empty if no family has three numbers of GPUs: two give a
// ratio, not a curve.
std::map<std::string, Scaling> scaling_of(const std::vector<const PageLine*>& usable) {
  std::map<std::string, std::vector<const PageLine*>> series;
  for (const auto* line : usable) series[line->series].push_back(line);
  std::map<std::string, Scaling> out;
  bool any_curve = false;
  for (const auto& [name, some] : series) {
    const auto families = families_of(some);
    if (families.empty()) continue;
    for (const auto& family : families)
      any_curve = any_curve || family.measured.size() > 2 || family.estimated.size() > 2;
    out[name] = {*std::ranges::min_element(families, is_larger), families.size() - 1};
  }
  if (!any_curve) out.clear();
  return out;
}

std::string scaling_finding(const std::map<std::string, Scaling>& all,
                            const ChartWithTable& shown) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(shown.series.size(), 3); ++i) {
    const auto& name = shown.series[i].first;
    const auto& family = all.at(name).family;
    const auto& points = family.best();
    out.push_back(
        fmt::format("{} keeps {} of its throughput per GPU from {} to {} GPUs with {} ({})", name,
                    percent(points.back().share), page::shown(points.front().line->gpus),
                    page::shown(points.back().line->gpus),
                    family.is_strong ? "the same global batch" : "the same batch on each rank",
                    points.back().is_measured ? "measured" : "estimated"));
  }
  return join(out, "; ") + ".";
}

void add_throughput(Chart& chart, const ChartRuns& runs, const std::vector<Throughput>& points,
                    const std::pair<std::string, std::size_t>& series) {
  auto& panel = chart.panels[0];
  for (const auto& point : points) {
    const auto* kind = point.is_measured ? "measured" : "estimated";
    auto mark =
        mark_of(runs, *point.line, series.second, {point.share, {}, {}, 1}, point.is_measured,
                fmt::format("{}, {} tokens/s per GPU on {}, {}", percent(point.share),
                            shown(point.per_gpu), plural(point.line->gpus, "GPU"), kind));
    mark.x = point.line->gpus, mark.y = 100 * point.share;
    if (&point != &points.front())
      panel.rules.push_back(
          {.kind = "line",
           .line = {{panel.marks.back().x, panel.marks.back().y}, {mark.x, mark.y}},
           .look = series.second,
           .is_hollow = !point.is_measured});
    panel.marks.push_back(std::move(mark));
    chart.data.push_back({series.first, shown(point.line->gpus), kind, percent(point.share),
                          shown(point.per_gpu), point.line->name});
  }
}

}  // namespace

Chart scaling_chart(const ChartRuns& runs) {
  std::vector<const PageLine*> usable, drawn;
  for (const auto& line : runs.lines)
    if (line.gpus > 0 && line.out.empty()) usable.push_back(&line);
  const auto all = scaling_of(usable);
  if (all.empty()) return {};
  for (const auto& [name, scaling] : all) drawn.push_back(scaling.family.best().front().line);
  const auto shown = shown_series(runs, drawn);
  Chart out{
      .name = "scaling", .title = "Scaling efficiency", .finding = scaling_finding(all, shown)};
  out.data = {{"Series", "GPUs", "Kind", "Efficiency", "Tokens/s per GPU", "Run"}};
  auto& panel = out.panels.emplace_back();
  std::set<double> counts;
  double most = 110;
  std::size_t others = 0;
  for (const auto& [name, scaling] : all) others += scaling.others;
  for (const auto& series : shown.series)
    for (const auto* points :
         {&all.at(series.first).family.estimated, &all.at(series.first).family.measured}) {
      add_throughput(out, runs, *points, series);
      for (const auto& point : *points) {
        counts.insert(point.line->gpus);
        most = std::max(most, 105 * point.share);
      }
    }
  panel.x = gpu_axis(counts);
  panel.y = linear_axis("throughput per GPU, % of that on the fewest", 0, most);
  panel.rules.push_back({.kind = "exact", .line = {{panel.x.low, 100}, {panel.x.high, 100}}});
  out.legend = series_samples(shown);
  add_kinds(out.legend, panel.marks);
  out.note = sentences(
      {"The runs of a series differ only in their number of GPUs and what follows from it.",
       others == 0
           ? ""
           : fmt::format("Of each series the configuration with the most marks; {} more not "
                         "drawn.",
                         others),
       shown.note, not_drawn(runs, [](const PageLine& line) {
         return line.gpus > 0 && (line.numbers.rate.measured || line.numbers.rate.estimated);
       })});
  return out;
}

}  // namespace orch::page
