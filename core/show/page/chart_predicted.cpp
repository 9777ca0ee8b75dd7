// Predicted against measured seconds per step; on the diagonal the estimate is exact.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/statistics/interval.h"
#include "core/show/page/charts.h"
#include "core/show/page/text.h"

namespace orch::page {
namespace {

constexpr std::size_t kMostInData = 200;

struct Prediction {
  const PageLine* line = nullptr;
  double measured = 0, predicted = 0, error = 0;
};

// Runs that do not count are ignored: they do not show how good the estimate is.
std::string predicted_finding(const std::vector<Prediction>& all) {
  std::vector<double> errors, sizes;
  for (const auto& point : all)
    if (point.line->out.empty()) {
      errors.push_back(point.error);
      sizes.push_back(std::abs(point.error));
    }
  if (errors.empty()) return "No run here is free of doubts.";
  const auto within = std::ranges::count_if(sizes, [](double size) { return size <= 0.1; });
  auto out = fmt::format(
      "Of {}, {} {} estimated within 10 %. Mean error without sign {:.1f} %, median {:+.1f} %.",
      plural(errors.size(), "run"), within, within == 1 ? "is" : "are",
      100 * statistics::mean(sizes), 100 * statistics::median(errors));
  if (const auto left = all.size() - errors.size(); left > 0)
    out += fmt::format(" Not counted, but drawn: {} left out elsewhere.", plural(left, "run"));
  return out;
}

}  // namespace

Chart::Panel square_of(const std::vector<double>& values) {
  Chart::Panel out{.is_square = true};
  out.x = log_axis("measured seconds per step", values, 4);
  out.y = out.x;
  out.y.title = "predicted seconds per step";
  const auto line = [&](const char* kind, double factor) {
    const double from = std::max(out.x.low, out.x.low / factor);
    const double to = std::min(out.x.high, out.x.high / factor);
    out.rules.push_back({.kind = kind, .line = {{from, factor * from}, {to, factor * to}}});
  };
  line("exact", 1), line("tenth", 1.1), line("tenth", 1 / 1.1);
  return out;
}

Chart predicted_chart(const ChartRuns& runs) {
  std::vector<Prediction> all;
  std::vector<const PageLine*> lines;
  for (const auto& line : runs.lines)
    if (line.numbers.step.measured && line.numbers.step.estimated) {
      const double measured = line.numbers.step.measured->value;
      const double predicted = line.numbers.step.estimated->value;
      all.push_back({&line, measured, predicted, predicted / measured - 1});
      lines.push_back(&line);
    }
  if (all.empty()) return {};
  const auto shown = shown_series(runs, lines);
  Chart out{.name = "predicted",
            .title = "Predicted against measured",
            .finding = predicted_finding(all)};
  out.data = {{"Run", "Measured s", "Predicted s", "Error"}};
  std::vector<double> values;
  std::vector<Chart::Mark> marks;
  for (const auto& [line, measured, predicted, error] : all) {
    const auto said = fmt::format("{:+.1f} %", 100 * error);
    if (out.data.size() <= kMostInData)
      out.data.push_back({line->name, page::shown(measured), page::shown(predicted), said});
    const auto* look = shown.look(line->series);
    if (look == nullptr) continue;
    auto& mark = marks.emplace_back(
        mark_of(runs, *line, *look, {measured, {}, {}, 1}, true,
                fmt::format("measured {} s, predicted {} s, {}", page::shown(measured),
                            page::shown(predicted), said)));
    mark.x = measured, mark.y = predicted, mark.is_faint = true;
    values.insert(values.end(), {measured, predicted});
  }
  out.panels.push_back(square_of(values));
  out.panels[0].marks = std::move(marks);
  out.legend = series_samples(shown);
  out.legend.push_back({"exact", 0, "exact"});
  out.legend.push_back({"tenth", 0, "10 % off"});
  if (std::ranges::any_of(out.panels[0].marks, &Chart::Mark::is_doubtful))
    out.legend.push_back({"doubtful", 0, "dashed: doubtful"});
  out.note = sentences(
      {shown.note, all.size() > kMostInData
                       ? fmt::format("The data below are of the first {} runs.", kMostInData)
                       : ""});
  return out;
}

}  // namespace orch::page
