// The best run of each strategy and model: what the first screen shows beside the answer.

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostBests = 7;

std::string gpu_hours(const Line& line) { return group_digits(line.gpus * 24 * days_of(line)); }

// A row with the mark of a run; beside it how many times the days of the first row it takes, if
// that is of the same model.
void add_best(Chart& chart, const Runs& runs, const Line& line, const std::string& name,
              std::size_t look, bool one_model) {
  auto& panel = chart.panels[0];
  const auto& days = *line.numbers.best_days();
  const bool is_measured = line.numbers.days.measured.has_value();
  const auto* kind = is_measured ? "measured" : "estimated";
  auto mark = mark_of(runs, line, look, days, is_measured,
                      fmt::format("{}, {} days per 100B tokens, {} GPU-hours, {}", name,
                                  with_limits(days), gpu_hours(line), kind));
  mark.x = days.value, mark.y = static_cast<double>(panel.rows.size());
  panel.marks.push_back(std::move(mark));
  const double times = days.value / panel.marks[0].x;
  panel.rows.push_back({runs.differ_in_gpus ? name + " · " + plural(line.gpus, "GPU") : name, "",
                        !one_model           ? ""
                        : panel.rows.empty() ? "best"
                                             : fmt::format("{:.2f}×", times)});
  const auto range = three(days);
  chart.data.push_back(
      {name, line.name, shown(line.gpus), kind, range[0], range[1], range[2], gpu_hours(line)});
}

}  // namespace

Chart best_chart(const Runs& runs) {
  std::set<std::string> models, seen;
  std::vector<const Line*> usable, best;
  for (const auto* line : runs.ranked)
    if (line->out.empty() && has_days(*line)) {
      usable.push_back(line);
      models.insert(size_class_of(*line->record));
    }
  const auto name_of = [&](const Line& line) {
    auto out = strategy_of(*line.record);
    if (out.empty()) out = "runs";
    const auto model = size_class_of(*line.record);
    return models.size() < 2 ? out : out + " · " + (model.empty() ? "model not known" : model);
  };
  for (const auto* line : usable)
    if (best.size() < kMostBests && seen.insert(name_of(*line)).second) best.push_back(line);
  if (best.size() < 2) return {};
  const auto looks = shown_series(runs, usable);
  Chart out{.name = "best", .title = "The best of each strategy"};
  out.data = {{"Strategy", "Run", "GPUs", "Kind", "Days", "Low", "High", "GPU-hours"}};
  auto& panel = out.panels.emplace_back();
  std::vector<double> values;
  for (const auto* line : best) {
    add_values(values, line->numbers.best_days());
    const auto* look = looks.look(line->series);
    add_best(out, runs, *line, name_of(*line), look != nullptr ? *look : 0, models.size() < 2);
  }
  panel.x = days_axis(values);
  out.finding = fmt::format("Days per 100B tokens with {}: {} ({}), with {}: {} ({}).",
                            name_of(*best[0]), shown(days_of(*best[0])), out.data[1][3],
                            name_of(*best[1]), shown(days_of(*best[1])), out.data[2][3]);
  add_kinds(out.legend, panel.marks);
  return out;
}

}  // namespace orch::page
