#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/app/gather.h"
#include "core/base/csv.h"
#include "core/plan/experiment.h"
#include "core/record/quantities.h"
#include "core/run/store/run_folder.h"
#include "core/show/tables/records.h"
#include "core/show/tables/report.h"
#include "core/show/tables/words.h"

namespace orch::app {
namespace {

using record::Record;

// A run held against what was expected of it.
struct Judgement {
  std::string run;
  plan::Expectation expected;
  std::optional<double> measured;  // nothing: it is not known
  std::string why;                 // it fell short; empty: it did not
};
using Judgements = std::vector<Judgement>;

std::optional<double> measured_in(const Record& record, const std::string& quantity) {
  const auto* found = record::find_quantity(quantity);
  const auto value = found ? record::measured(*found, record) : std::nullopt;
  return value ? std::optional(value->value) : std::nullopt;
}

std::string why_short(const Record& record, const plan::Expectation& expected,
                      const std::optional<double>& measured) {
  if (record.state != record::State::finished && record.state != record::State::stopped)
    return tables::verdict_text(record) + (record.reason.empty() ? "" : ": " + record.reason);
  if (!measured) return expected.quantity + " was not measured";
  const double off = 100 * (*measured / expected.value - 1);
  if (expected.below && *measured < expected.least())
    return fmt::format("{:.1f} % below, {:g} % are allowed", -off, 100 * *expected.below);
  if (expected.above && *measured > *expected.most())
    return fmt::format("{:.1f} % above, {:g} % are allowed", off, 100 * *expected.above);
  return "";
}

// Every run that somebody has started, against each expectation that is for it. One that failed,
// goes on, or does not say the quantity has fallen short. An error where a `where` chooses nothing.
Errors judge_expected(const Records& records, const std::vector<plan::Expectation>& expected,
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
      if (record->state == record::State::planned) continue;
      const auto measured = measured_in(*record, expectation.quantity);
      out.push_back({record->id, expectation, measured, why_short(*record, expectation, measured)});
    }
  }
  return errors;
}

// What an experiment expected: as its file says now, or as its folder was written.
Result<std::vector<plan::Expectation>> expected_of(const Gatherer& gatherer, const Record& record) {
  const auto& name = record.origin.experiment;
  for (const auto& outcome : gatherer.experiments())
    if (outcome.experiment.name == name) return outcome.experiment.expect;
  if (record.origin.kind != "run") return std::vector<plan::Expectation>();
  const auto asked = store::read_experiment(fs::path(record.origin.file).parent_path());
  if (!asked) return asked.error();
  return *asked ? (*asked)->expect : std::vector<plan::Expectation>();
}

Result<Judgements> judge(const Gatherer& gatherer, const Records& records) {
  Judgements out;
  std::set<std::string> names;
  for (const auto& record : records) names.insert(record.origin.experiment);
  for (const auto& name : names) {
    Records of_experiment;
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

show::Rows rows_of(const Judgements& judgements) {
  show::Rows rows{{"run", "quantity", "expected", "measured", "off", "limits", "verdict"}};
  for (const auto& one : judgements) {
    const auto& expected = one.expected;
    rows.push_back(
        {one.run, expected.quantity, tables::significant(expected.value),
         one.measured ? tables::significant(*one.measured) : "",
         one.measured ? fmt::format("{:+.1f} %", 100 * (*one.measured / expected.value - 1)) : "",
         limits_text(expected), one.why.empty() ? "ok" : "short: " + one.why});
  }
  return rows;
}

std::string json_of(const Judgements& judgements) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& one : judgements) {
    nlohmann::ordered_json item{
        {"run", one.run}, {"quantity", one.expected.quantity}, {"expected", one.expected.value}};
    if (one.expected.below) item["below"] = *one.expected.below;
    if (one.expected.above) item["above"] = *one.expected.above;
    if (one.measured) item["measured"] = *one.measured;
    item["ok"] = one.why.empty();
    if (!one.why.empty()) item["why"] = one.why;
    list.push_back(std::move(item));
  }
  return nlohmann::ordered_json{{"version", 1}, {"checks", std::move(list)}}.dump(1) + "\n";
}

std::string text_of(const Judgements& judgements, const Common& common) {
  if (common.format == "json") return json_of(judgements);
  if (common.format == "csv") {
    CsvWriter out;
    for (const auto& row : rows_of(judgements)) out.row({row.begin(), row.end()});
    return out.text();
  }
  return show::grid(rows_of(judgements), common.screen);
}

}  // namespace

Ending check_command(App& app, const RecordArguments& arguments, Console& console) {
  Gatherer gatherer(app, arguments);
  const auto records = gatherer.find_all(arguments.words, console);
  if (!records) return {records.error(), interrupted() ? Exit::interrupted : Exit::error};
  const auto judged = judge(gatherer, *records);
  if (!judged) return judged.error();
  if (judged->empty())
    return Error{"orch check", "nothing is expected of a run that was started",
                 "write expect = { tokens_per_second = { value = 68000, below = 0.05 } } into "
                 "the experiment, and orch run it"};
  if (auto ended =
          put_out(text_of(*judged, arguments.common), arguments.output, arguments.words, console);
      !ended.ok())
    return ended;
  const auto short_ones = std::count_if(judged->begin(), judged->end(),
                                        [](const Judgement& one) { return !one.why.empty(); });
  if (short_ones == 0) return Exit::ok;
  console.note(fmt::format("{} of {} fell short\n", short_ones, judged->size()));
  return Exit::runs_failed;
}

}  // namespace orch::app
