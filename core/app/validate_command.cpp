#include <fmt/format.h>

#include <algorithm>

#include "core/app/app.h"
#include "core/app/calibrate.h"
#include "core/app/commands.h"
#include "core/app/rows.h"
#include "core/app/tune_replay.h"
#include "core/base/regex.h"
#include "core/base/text.h"
#include "core/price/estimate/without.h"
#include "core/record/published/score.h"
#include "core/show/page/page.h"
#include "core/show/tables/validation.h"

namespace orch::app {
namespace {

using published::JudgedSample;

// Selects the constants for each sample's prediction by the way of calibration.
Result<std::vector<JudgedSample>> judge(const App& app, const MeasuredRows& rows,
                                        const std::string& calibrate,
                                        const estimate::LeftOutTerms& without) {
  const auto& samples = rows.samples.samples;
  if (calibrate == "loto" || calibrate == "loso") {
    const auto folds =
        calibrate == "loto" ? published::folds(samples) : published::sources(samples);
    return judge_left_out(app, samples, folds, rows.apart(), without);
  }
  auto judged = judge_as_is(app, samples, calibrate != "datasheet", without);
  if (judged && calibrate == "first") published::calibrate_on_first(*judged);
  return judged;
}

Result<estimate::LeftOutTerms> left_out(const App& app, const MeasuredRows& rows,
                                        const std::vector<std::string>& names) {
  if (names.empty()) return estimate::LeftOutTerms();
  const auto known = ingredients(app, rows.samples.samples);
  if (!known) return known.error();
  return estimate::LeftOutTerms::from(names, *known);
}

std::string calibrated(const ValidateArguments& arguments) {
  if (arguments.without.empty()) return arguments.calibrate;
  return fmt::format("{}, without {}", arguments.calibrate,
                     printable(join(arguments.without, ", ")));
}

void give(const tables::Validation& validation, const ValidateArguments& arguments,
          Console& console) {
  if (arguments.common.format != "svg")
    return arguments.common.give(tables::validation_answer(validation, arguments.rows), console);
  console.print(
      page::svg(validation.rows, validation.apart, validation.scores, validation.calibrate));
  console.note(tables::left_out(validation));
}

// Removes the rows of other tables.
Status keep_tables(const std::string& expression, published::PublishedSamples& samples) {
  if (expression.empty()) return {};
  const auto regex = Regex::compile(expression);
  if (!regex) return Error{"--table", regex.error().front().fact, "write a regular expression"};
  const auto other = [&](const auto& row) {
    return !regex->search(row.source + "/" + row.table, 0);
  };
  std::erase_if(samples.samples, other);
  std::erase_if(samples.skipped, other);
  return {};
}

tables::ScoreDetail detail_of(const std::string& by) {
  if (by == "source") return tables::ScoreDetail::source;
  if (by == "table") return tables::ScoreDetail::table;
  return by == "size" ? tables::ScoreDetail::size : tables::ScoreDetail::all;
}

// For nightly checks that estimates are still accurate.
Ending verdict(const tables::Validation& validation, const std::optional<double>& tolerance) {
  if (!tolerance) return Exit::ok;
  const auto& rows = validation.rows;
  if (std::none_of(rows.begin(), rows.end(),
                   [](const JudgedSample& row) { return row.has_time(); }))
    return Error{"--tolerance", "no row has a step time to compare with", ""};
  const auto beyond = validation.beyond(*tolerance);
  if (beyond.empty()) return Exit::ok;
  return {Error{"--tolerance",
                fmt::format("the mean error is above {:g} % for {}", *tolerance,
                            printable(join(beyond, ", "))),
                ""},
          Exit::over_tolerance};
}

}  // namespace

Ending validate_command(App& app, const ValidateArguments& arguments, Console& console) {
  if (!arguments.files.empty()) app.look_beside(arguments.files.front());
  if (auto status = check_cluster(app, arguments.cluster); !status)
    return {status.error(), Exit::usage};
  auto rows = load_rows(app, arguments.files, arguments.cluster);
  if (!rows) return rows.error();
  if (auto status = keep_tables(arguments.table, rows->samples); !status)
    return {status.error(), Exit::usage};
  const auto without = left_out(app, *rows, arguments.without);
  if (!without) return {without.error(), Exit::usage};
  const auto judged = judge(app, *rows, arguments.calibrate, *without);
  if (!judged) return {judged.error(), interrupted() ? Exit::interrupted : Exit::error};
  if (arguments.tune) {
    arguments.common.give(replays_answer(*judged, arguments.limits), console);
    return Exit::ok;
  }
  const tables::Validation validation(*judged, rows->samples, rows->unexplained,
                                      calibrated(arguments), detail_of(arguments.by));
  give(validation, arguments, console);
  if (!judged->empty()) return verdict(validation, arguments.tolerance);
  return Error{"orch validate", "no row could be held against an estimate",
               "the reasons are listed under skipped"};
}

}  // namespace orch::app
