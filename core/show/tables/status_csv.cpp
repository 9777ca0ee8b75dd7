#include <fmt/format.h>

#include "core/base/csv.h"
#include "core/show/tables/status.h"

namespace orch::tables {
namespace {

// Nothing where it is not known.
CsvCell known(double value) { return value > 0 ? CsvCell(value) : CsvCell(); }

std::vector<CsvCell> cells_of(const std::string& experiment, const RunStatus& run) {
  const auto& verdict = run.outcome.verdict;
  const auto progress = run.outcome.progress.value_or(record::Progress{});
  return {experiment,
          run.facts.id,
          name(verdict.state),
          name(verdict.failure),
          verdict.reason,
          run.job,
          fmt::format("{:.0f}", run.outcome.elapsed_seconds),
          run.outcome.progress ? CsvCell(progress.step) : CsvCell(),
          run.facts.steps,
          progress.loss,
          known(progress.tokens_per_second),
          known(progress.step_seconds),
          known(run.facts.step_seconds),
          run.outcome.gpu_hours,
          known(run.facts.gpu_hours),
          known(progress.peak_memory),
          known(run.facts.peak_memory),
          known(progress.communicated_bytes.value_or(0)),
          known(run.facts.communicated_bytes),
          progress.bubble,
          known(run.facts.bubble),
          progress.evaluation_loss};
}

}  // namespace

std::string status_csv(const std::vector<Standings>& all) {
  CsvWriter out(
      "experiment,id,state,failure,reason,job,elapsed_seconds,step,steps,loss,"
      "tokens_per_second,step_seconds,estimated_step_seconds,gpu_hours,estimated_gpu_hours,"
      "peak_memory_bytes,estimated_peak_memory_bytes,communicated_bytes,"
      "estimated_communicated_bytes,bubble,estimated_bubble,evaluation_loss");
  for (const auto& standings : all)
    for (const auto& run : standings.runs) out.row(cells_of(standings.experiment, run));
  return out.text();
}

}  // namespace orch::tables
