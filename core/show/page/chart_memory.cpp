// Peak memory of the fullest GPU of each run, and the limit there.

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

std::optional<Interval> gib(const std::optional<Interval>& bytes) {
  if (!bytes) return {};
  return bytes->times(1 / kGiB);
}

bool has_memory(const PageLine& line) {
  return line.numbers.memory.measured || line.numbers.memory.estimated;
}

double gib_of(const PageLine& line) {
  const auto& memory = line.numbers.memory;
  return (memory.measured ? memory.measured : memory.estimated)->value / kGiB;
}

double limit_of(const PageLine& line) { return line.numbers.memory_limit.value_or(0) / kGiB; }

// The share of the memory limit that a run uses. Without a limit, a huge number that grows with the
// memory, so that such runs sort first.
double fullness(const PageLine& line) {
  return gib_of(line) / line.numbers.memory_limit.value_or(1 / kGiB) * kGiB;
}

// Half of the rows show the best runs, half the fullest of the others, because readers look here
// for runs that do not fit.
std::vector<const PageLine*> drawn_of(const std::vector<const PageLine*>& all) {
  auto out = best_first(all, all.size() <= kMostRows ? kMostRows : kMostRows / 2);
  std::vector<const PageLine*> others;
  for (const auto* line : all)
    if (std::ranges::find(out, line) == out.end()) others.push_back(line);
  std::ranges::stable_sort(others, std::greater<>(), [](auto* line) { return fullness(*line); });
  others.resize(std::min(others.size(), kMostRows - out.size()));
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

std::string memory_finding(const std::vector<const PageLine*>& drawn) {
  std::vector<const PageLine*> limited;
  for (const auto* line : drawn)
    if (line->numbers.memory_limit) limited.push_back(line);
  if (limited.empty()) {
    const auto* most = *std::ranges::max_element(drawn, {}, [](auto* l) { return gib_of(*l); });
    return fmt::format("The fullest: {} with {} GiB. No limit is known.", short_name(*most),
                       shown(gib_of(*most)));
  }
  const auto* most = *std::ranges::max_element(limited, {}, [](auto* l) { return fullness(*l); });
  const auto over = std::ranges::count_if(limited, [](auto* l) { return fullness(*l) > 1; });
  return fmt::format("{} over the limit; the fullest, {}, takes {} of {} GiB ({}).",
                     over == 0   ? "No run shown is"
                     : over == 1 ? "1 run shown is"
                                 : fmt::format("{} runs shown are", over),
                     short_name(*most), percent(fullness(*most)), shown(limit_of(*most)),
                     most->numbers.memory.measured ? "measured" : "estimated");
}

// The axis is limited, so that an estimate of thousands of GiB does not hide all other runs.
Chart::Axis memory_axis(const std::vector<const PageLine*>& drawn) {
  double most = 0, usual = 0;
  for (const auto* line : drawn) {
    const auto& memory = line->numbers.memory;
    for (const auto& range : {memory.measured, memory.estimated})
      if (range) most = std::max(most, range->high.value_or(range->value) / kGiB);
    usual = std::max({usual, limit_of(*line), memory.measured ? memory.measured->value / kGiB : 0});
  }
  return linear_axis("GiB on the fullest GPU", 0,
                     1.04 * (usual > 0 ? std::clamp(most, usual, 2.5 * usual) : most));
}

void add_memory(Chart& chart, const ChartRuns& runs, const PageLine& line) {
  auto& panel = chart.panels[0];
  const auto row = static_cast<double>(panel.rows.size());
  const auto measured = gib(line.numbers.memory.measured);
  const auto estimated = gib(line.numbers.memory.estimated);
  const double limit = limit_of(line);
  panel.rows.push_back(
      {run_label(runs, line), "", gib_of(line) > panel.x.high ? shown(gib_of(line)) + " GiB" : ""});
  panel.rules.push_back({.kind = "ground", .line = {{0, row}, {gib_of(line), row}}});
  if (limit > 0)
    panel.rules.push_back({.kind = "limit",
                           .line = {{limit, row - 0.45}, {limit, row + 0.45}},
                           .tooltip = fmt::format("{}: limit {} GiB", line.name, shown(limit))});
  const auto add = [&](const std::optional<Interval>& range, bool is_measured) {
    if (!range) return;
    panel.marks.push_back(mark_of(
        runs, line, is_measured ? 4 : 0, *range, is_measured,
        fmt::format("{} GiB {}", with_limits(*range), is_measured ? "measured" : "estimated")));
    panel.marks.back().x = range->value, panel.marks.back().y = row;
  };
  add(estimated, false), add(measured, true);
  const auto guess = three(estimated);
  chart.data.push_back({line.name, measured ? shown(measured->value) : "", guess[0], guess[1],
                        guess[2], limit > 0 ? shown(limit) : ""});
}

}  // namespace

Chart memory_chart(const ChartRuns& runs) {
  std::vector<const PageLine*> all;
  for (const auto* line : runs.ranked)
    if (has_memory(*line)) all.push_back(line);
  if (all.empty()) return {};
  const auto drawn = drawn_of(all);
  Chart out{
      .name = "memory", .title = "Memory against the limit", .finding = memory_finding(drawn)};
  out.data = {{"Run", "Measured GiB", "Estimated GiB", "Low", "High", "Limit GiB"}};
  auto& panel = out.panels.emplace_back();
  panel.x = memory_axis(drawn);
  for (const auto* line : drawn) add_memory(out, runs, *line);
  add_kinds(out.legend, panel.marks);
  for (auto& sample : out.legend) sample.look = sample.kind == "filled" ? 4 : 0;
  if (std::ranges::any_of(drawn, [](auto* line) { return limit_of(*line) > 0; }))
    out.legend.push_back({"limit", 0, "limit"});
  if (all.size() > kMostRows)
    out.note = fmt::format(
        "The {0} best of {1} and the {0} fullest of the others; the table has them all.",
        kMostRows / 2, plural(all.size(), "run"));
  return out;
}

}  // namespace orch::page
