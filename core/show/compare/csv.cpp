#include "core/base/csv.h"

#include "core/show/compare/compare.h"

namespace orch::compare {
namespace {

using statistics::Interval;

constexpr int kDigits = 10;
using Cells = std::vector<CsvCell>;

void add(const std::optional<Interval>& interval, Cells& to) {
  const auto number = [&](std::optional<double> value) { to.emplace_back(value, kDigits); };
  number(interval ? std::optional(interval->value) : std::nullopt);
  number(interval ? interval->low : std::nullopt);
  number(interval ? interval->high : std::nullopt);
}

// The first group stands against nobody.
void add(const Judgement* j, Cells& to) {
  add(j ? j->ratio : std::nullopt, to);
  add(j ? j->predicted : std::nullopt, to);
  to.emplace_back(j ? name(j->verdict) : "");
  to.push_back(j ? CsvCell(j->doubtful) : CsvCell());
  to.emplace_back(j ? j->text : "");
}

}  // namespace

std::string csv(const Comparison& c) {
  CsvWriter out(
      "metric,convention,better,group,value,low,high,runs,estimated,estimated_low,"
      "estimated_high,ratio,ratio_low,ratio_high,predicted,predicted_low,predicted_high,"
      "verdict,doubtful,text");
  for (std::size_t i = 0; i < c.metrics.size(); ++i)
    for (std::size_t g = 0; g < c.groups.size(); ++g) {
      const auto& metric = c.metrics[i];
      const auto& value = metric.values[g];
      Cells cells{metric.name, metric.convention, name(metric.better), c.groups[g].name};
      add(value.measured, cells);
      cells.emplace_back(value.runs);
      add(value.estimated, cells);
      add(g > 0 ? &c.against[g - 1].judgements[i] : nullptr, cells);
      out.row(cells);
    }
  return out.text();
}

}  // namespace orch::compare
