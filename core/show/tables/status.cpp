#include "core/show/tables/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/record/quantities.h"
#include "core/show/tables/status_words.h"

namespace orch::tables {
namespace {

using record::State;
using RunStatuses = std::vector<const RunStatus*>;

// What needs a look first: troubles, then what runs, then what waits, then what is done.
int urgency(const RunStatus& run) {
  switch (run.record.state) {
    case State::failed:
      return 0;
    case State::running:
      return run.record.failure == record::Failure::hang ? 0 : 1;
    case State::stopped:
      return 2;
    case State::pending:
      return 3;
    case State::finished:
      return 4;
    case State::cancelled:
      return 5;
    case State::planned:
      return 6;
  }
  return 7;
}

std::vector<const RunStatus*> in_order(const Standings& standings) {
  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto* a, const auto* b) { return urgency(*a) < urgency(*b); });
  return runs;
}

std::string prefix_note(const Standings& standings) {
  const auto prefix = common_prefix(standings.runs);
  if (prefix == 0) return "";
  return fmt::format("runs: {}…\n", printable(standings.runs.front().record.id.substr(0, prefix)));
}

// What all of them share and no column says.
std::string measured_note(const RunStatuses& runs) {
  const auto first = runs.front()->record.field_text("cluster");
  for (const auto* run : runs)
    if (run->record.field_text("cluster") != first) return "measured; est.: as estimated\n";
  return fmt::format("measured on {}; est.: as estimated\n", printable(first));
}

CsvCell cell(const record::Quantity::Value& value) {
  return value ? CsvCell(value->value) : CsvCell();
}

std::vector<CsvCell> cells_of(const std::string& experiment, const RunStatus& run) {
  const auto& record = run.record;
  const auto steps = run.record.measured.steps;
  std::vector<CsvCell> out{experiment,
                           run.record.id,
                           name(record.state),
                           name(record.failure),
                           record.reason,
                           run.job,
                           fmt::format("{:.0f}", run.elapsed_seconds),
                           steps > 0 ? CsvCell(steps) : CsvCell(),
                           run.record.measured.steps_planned};
  for (const auto& quantity : record::quantities()) {
    if (!quantity.planned) out.push_back(cell(record::measured(quantity, run.record)));
    if (quantity.estimated) out.push_back(cell(record::estimated(quantity, run.record)));
  }
  return out;
}

}  // namespace

std::string status_table(const Standings& standings, const Screen& screen, std::size_t top) {
  if (standings.runs.empty()) return "no runs\n";
  auto runs = in_order(standings);
  if (screen.markdown)
    return prefix_note(standings) + "\n" +
           grid(fitting_rows(filled(status_columns(standings, runs), runs), {}), screen);
  const auto all = runs.size();
  if (top > 0 && runs.size() > top) runs.resize(top);
  auto out = prefix_note(standings) +
             grid(fitting_rows(filled(status_columns(standings, runs), runs), screen), screen);
  if (runs.size() < all) out += fmt::format("… and {} more (--top 0)\n", all - runs.size());
  return out;
}

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

std::string status_summary(const Standings& standings) {
  std::map<State, std::size_t> counts;
  for (const auto& run : standings.runs) ++counts[run.record.state];
  std::vector<std::string> parts;
  for (const auto state : {State::finished, State::running, State::pending, State::stopped,
                           State::failed, State::cancelled, State::planned})
    if (counts[state] > 0) parts.push_back(fmt::format("{} {}", counts[state], name(state)));
  auto out = fmt::format("{}: {}", printable(standings.experiment), join(parts, ", "));
  out += "; " + hours_text(standings) + "\n";
  if (standings.silent_seconds > 0)
    out += fmt::format("the scheduler has not answered for {}; what is shown may be old\n",
                       format_seconds(standings.silent_seconds));
  return out;
}

std::vector<std::string> changes(const Standings& before, const Standings& now) {
  std::map<std::string, const RunStatus*> old;
  for (const auto& run : before.runs) old[run.record.id] = &run;
  std::vector<std::string> out;
  for (const auto& run : now.runs) {
    const auto found = old.find(run.record.id);
    const auto was = found == old.end() ? State::planned : found->second->record.state;
    const auto& record = run.record;
    const bool hangs =
        record.failure == record::Failure::hang &&
        (found == old.end() || found->second->record.failure != record::Failure::hang);
    if (was == record.state && !hangs) continue;
    auto line = fmt::format("{}: {}", id_text(run), state_text(run));
    if (const auto reason = reason_text(run); !reason.empty()) line += ": " + reason;
    if (record.state == State::finished && !measured_step_text(run).empty())
      line += fmt::format(", {} s/step ({} estimated)", measured_step_text(run),
                          estimated_step_text(run));
    out.push_back(std::move(line));
  }
  return out;
}

std::string measured_table(const Standings& standings, const Screen& screen) {
  std::vector<const RunStatus*> runs;
  for (const auto& run : standings.runs)
    if (run.record.measured.step_seconds) runs.push_back(&run);
  if (runs.empty()) return "";
  std::stable_sort(runs.begin(), runs.end(), [](const auto* a, const auto* b) {
    return a->record.measured.tokens_per_second > b->record.measured.tokens_per_second;
  });
  return measured_note(runs) + grid(fitting_rows(filled(measured_columns(runs, screen), runs), screen), screen);
}

}  // namespace orch::tables
