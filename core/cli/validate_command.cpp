#include <fmt/format.h>

#include <cstdio>

#include "core/base/text.h"
#include "core/cli/app.h"
#include "core/cli/calibrate.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/rows.h"
#include "core/estimate/without.h"
#include "core/measured/score.h"
#include "core/report/validation.h"

namespace orch::cli {
namespace {

using measured::Judged;

// Where a way to calibrate decides what each sample is predicted with.
Result<std::vector<Judged>> judge(const App& app, const MeasuredRows& rows,
                                  const std::string& calibrate, const estimate::Without& without) {
  const auto& samples = rows.samples.samples;
  if (calibrate == "loto")
    return judge_left_out(app, samples, measured::folds(samples), rows.apart(), without);
  auto judged = judge_as_is(app, samples, calibrate != "datasheet", without);
  if (judged && calibrate == "first") measured::calibrate_on_first(*judged);
  return judged;
}

Result<estimate::Without> left_out(const App& app, const MeasuredRows& rows,
                                   const std::vector<std::string>& names) {
  if (names.empty()) return estimate::Without();
  const auto known = ingredients(app, rows.samples.samples);
  if (!known) return known.error();
  return estimate::Without::from(names, *known);
}

std::string calibrated(const ValidateArguments& arguments) {
  if (arguments.without.empty()) return arguments.calibrate;
  return fmt::format("{}, without {}", arguments.calibrate,
                     printable(join(arguments.without, ", ")));
}

// What was left out goes where the table went, or to stderr when stdout is for a program.
void show(const report::Validation& validation, const ValidateArguments& arguments) {
  const auto& common = arguments.common;
  if (common.format == "table") {
    print(report::validation_table(validation, common.screen, arguments.rows));
    return;
  }
  if (common.format == "json") print(report::validation_json(validation));
  if (common.format == "csv") print(report::validation_csv(validation));
  if (common.format == "md") print(report::validation_markdown(validation, arguments.rows));
  if (common.format == "svg") print(report::scatter_svg(validation));
  std::fputs(report::left_out(validation).c_str(), stderr);
}

}  // namespace

int validate_command(const ValidateArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  if (auto status = check_cluster(**app, arguments.files, arguments.cluster); !status)
    return fail(status.error(), kUsage);
  const auto rows = load_rows(**app, arguments.files, arguments.cluster);
  if (!rows) return fail(rows.error(), kError);
  const auto without = left_out(**app, *rows, arguments.without);
  if (!without) return fail(without.error(), kUsage);
  const auto judged = judge(**app, *rows, arguments.calibrate, *without);
  if (!judged) return fail(judged.error(), interrupted() ? kInterrupted : kError);
  show(report::Validation(*judged, rows->samples, rows->unexplained, calibrated(arguments)),
       arguments);
  if (!judged->empty()) return kOk;
  return fail(Error{"orch validate", "no row could be held against an estimate",
                    "the reasons are listed under skipped"},
              kError);
}

}  // namespace orch::cli
