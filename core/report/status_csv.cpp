#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "core/report/status.h"

namespace orch::report {
namespace {

std::string cell(const std::string& hostile) {
  const auto text = printable(hostile);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// Empty where it is not known.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string known(double value) { return value > 0 ? number(value) : ""; }

std::string line_of(const std::string& experiment, const RunStatus& run) {
  const auto& verdict = run.outcome.verdict;
  const auto& progress = run.outcome.progress;
  return fmt::format(
      "{},{},{},{},{},{},{:.0f},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", cell(experiment),
      cell(run.facts.id), name(verdict.state), name(verdict.failure), cell(verdict.reason),
      cell(run.job), run.outcome.elapsed_seconds, progress ? std::to_string(progress->step) : "",
      run.facts.steps, progress && progress->loss ? number(*progress->loss) : "",
      progress ? known(progress->tokens_per_second) : "",
      progress ? known(progress->step_seconds) : "", known(run.facts.step_seconds),
      number(run.outcome.gpu_hours), known(run.facts.gpu_hours),
      progress ? known(progress->peak_memory) : "", known(run.facts.peak_memory),
      progress ? known(progress->communicated_bytes.value_or(0)) : "",
      known(run.facts.communicated_bytes),
      progress && progress->evaluation_loss ? number(*progress->evaluation_loss) : "");
}

}  // namespace

std::string status_csv(const std::vector<Standings>& all) {
  std::string out =
      "experiment,id,state,failure,reason,job,elapsed_seconds,step,steps,loss,tokens_per_second,"
      "step_seconds,estimated_step_seconds,gpu_hours,estimated_gpu_hours,"
      "peak_memory_bytes,estimated_peak_memory_bytes,communicated_bytes,"
      "estimated_communicated_bytes,evaluation_loss\n";
  for (const auto& standings : all)
    for (const auto& run : standings.runs) out += line_of(standings.experiment, run);
  return out;
}

}  // namespace orch::report
