#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/app/gather.h"
#include "core/plan/experiment.h"
#include "core/record/quantities.h"
#include "core/run/store/run_folder.h"
#include "core/show/tables/records.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using record::Record;

// A run compared with an expectation.
struct CheckedRow {
  std::string run;
  plan::Expectation expected;
  std::optional<double> measured;  // nothing: unknown
  std::string why;                 // why it fell short; empty: it did not
};
using Judgements = std::vector<CheckedRow>;

std::optional<double> measured_in(const Record& record, const std::string& quantity) {
  const auto* found = record::find_quantity(quantity);
  const auto value = found ? record::measured(*found, record) : std::nullopt;
  return value ? std::optional(value->value) : std::nullopt;
}

std::string why_short(const Record& record, const plan::Expectation& expected,
                      const std::optional<double>& measured) {
  if (record.state != record::RunState::finished && record.state != record::RunState::stopped)
    return tables::verdict_text(record) + (record.reason.empty() ? "" : ": " + record.reason);
  if (!measured) return expected.quantity + " was not measured";
  const double off = 100 * (*measured / expected.value - 1);
  if (expected.below && *measured < expected.least())
    return fmt::format("{:.1f} % below, {:g} % are allowed", -off, 100 * *expected.below);
  if (expected.above && *measured > *expected.most())
    return fmt::format("{:.1f} % above, {:g} % are allowed", off, 100 * *expected.above);
  return "";
}

// Compares every started run with each expectation that applies to it. A run that failed, is not
// finished, or lacks the quantity has fallen short. An error if a `where` selects nothing.
Errors judge_expected(const RecordList& records, const std::vector<plan::Expectation>& expected,
                      Judgements& out) {
  Errors errors;
  for (const auto& expectation : expected) {
    const auto chosen = select(records, expectation.where);
    if (!chosen) {
      for (const auto& error : chosen.error())
        errors.push_back({"expect: where " + error.place, error.fact, error.fix});
      continue;
    }
    for (const auto* record : *chosen) {
      if (record->state == record::RunState::planned) continue;
      const auto measured = measured_in(*record, expectation.quantity);
      out.push_back({record->id, expectation, measured, why_short(*record, expectation, measured)});
    }
  }
  return errors;
}

// The expectations of an experiment: from its present file, or as stored in its folder.
Result<std::vector<plan::Expectation>> expected_of(const Gatherer& gatherer, const Record& record) {
  const auto& name = record.origin.experiment;
  for (const auto& outcome : gatherer.experiments())
    if (outcome.experiment.name == name) return outcome.experiment.expect;
  if (record.origin.kind != "run") return std::vector<plan::Expectation>();
  const auto asked = store::read_experiment(fs::path(record.origin.file).parent_path());
  if (!asked) return asked.error();
  return *asked ? (*asked)->expect : std::vector<plan::Expectation>();
}

Result<Judgements> judge(const Gatherer& gatherer, const RecordList& records) {
  Judgements out;
  std::set<std::string> names;
  for (const auto& record : records) names.insert(record.origin.experiment);
  for (const auto& name : names) {
    RecordList of_experiment;
    for (const auto& record : records)
      if (record.origin.experiment == name) of_experiment.push_back(record);
    const auto expected = expected_of(gatherer, of_experiment.front());
    if (!expected) return expected.error();
    if (auto errors = judge_expected(of_experiment, *expected, out); !errors.empty()) return errors;
  }
  return out;
}

std::string limits_text(const plan::Expectation& expected) {
  if (expected.below && expected.above)
    return fmt::format("{} to {}", tables::significant(expected.least()),
                       tables::significant(*expected.most()));
  return expected.below ? "at least " + tables::significant(expected.least())
                        : "at most " + tables::significant(*expected.most());
}

show::Cell number_cell(const std::optional<double>& number) {
  return number ? show::Cell(*number, tables::significant(*number)) : show::Cell();
}

show::Answer answer_of(Judgements judgements) {
  show::Columns<CheckedRow> columns(std::move(judgements));
  columns.add("run", "run", 0, [](const CheckedRow& j) { return j.run; });
  columns.add("quantity", "quantity", 0, [](const CheckedRow& j) { return j.expected.quantity; });
  columns.add("expected", "expected", 0,
              [](const CheckedRow& j) { return number_cell(j.expected.value); });
  columns.add("measured", "measured", 0,
              [](const CheckedRow& j) { return number_cell(j.measured); });
  columns.add("", "off", 0, [](const CheckedRow& j) {
    return j.measured ? fmt::format("{:+.1f} %", 100 * (*j.measured / j.expected.value - 1)) : "";
  });
  columns.add("", "limits", 0, [](const CheckedRow& j) { return limits_text(j.expected); });
  columns.add("below", [](const CheckedRow& j) { return number_cell(j.expected.below); });
  columns.add("above", [](const CheckedRow& j) { return number_cell(j.expected.above); });
  columns.add("", "verdict", 0,
              [](const CheckedRow& j) { return j.why.empty() ? "ok" : "short: " + j.why; });
  columns.add("ok", [](const CheckedRow& j) { return j.why.empty(); });
  columns.add("why", [](const CheckedRow& j) { return j.why; });
  return {"", "", {columns.table("checks")}};
}

}  // namespace

Ending check_command(App& app, const RecordArguments& arguments, Console& console) {
  Gatherer gatherer(app, arguments);
  const auto records = gatherer.find_all(arguments.words, console);
  if (!records) return {records.error(), interrupted() ? Exit::interrupted : Exit::error};
  auto judged = judge(gatherer, *records);
  if (!judged) return judged.error();
  if (judged->empty())
    return Error{"orch check", "no started run has an expectation",
                 "write expect = { tokens_per_second = { value = 68000, below = 0.05 } } into "
                 "the experiment, and orch run it"};
  const auto all = judged->size();
  const auto short_ones = std::count_if(judged->begin(), judged->end(),
                                        [](const CheckedRow& one) { return !one.why.empty(); });
  const auto answer = answer_of(std::move(*judged));
  if (auto ended = put_out(answer, arguments.common, arguments.output, arguments.words, console);
      !ended.ok())
    return ended;
  if (short_ones == 0) return Exit::ok;
  console.note(fmt::format("{} of {} checks failed\n", short_ones, all));
  return Exit::runs_failed;
}

}  // namespace orch::app
