#include <fmt/format.h>

#include "core/base/csv.h"
#include "core/show/tables/status.h"

namespace orch::tables {
namespace {

CsvCell cell(const record::Quantity::Value& value) {
  return value ? CsvCell(value->value) : CsvCell();
}

std::vector<CsvCell> cells_of(const std::string& experiment, const RunStatus& run) {
  const auto& verdict = run.outcome.verdict;
  const auto steps = run.outcome.measured.steps;
  std::vector<CsvCell> out{experiment,
                           run.facts.id,
                           name(verdict.state),
                           name(verdict.failure),
                           verdict.reason,
                           run.job,
                           fmt::format("{:.0f}", run.outcome.elapsed_seconds),
                           steps > 0 ? CsvCell(steps) : CsvCell(),
                           run.facts.steps};
  for (const auto& quantity : record::quantities()) {
    if (!quantity.planned) out.push_back(cell(run.measured(quantity)));
    if (quantity.estimated) out.push_back(cell(run.estimated(quantity)));
  }
  return out;
}

}  // namespace

std::string status_csv(const std::vector<Standings>& all) {
  std::string header = "experiment,id,state,failure,reason,job,elapsed_seconds,step,steps";
  for (const auto& quantity : record::quantities()) {
    if (!quantity.planned) header += fmt::format(",{}", quantity.name);
    if (quantity.estimated) header += fmt::format(",estimated_{}", quantity.name);
  }
  CsvWriter out(header);
  for (const auto& standings : all)
    for (const auto& run : standings.runs) out.row(cells_of(standings.experiment, run));
  return out.text();
}

}  // namespace orch::tables
