#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/cli/app.h"
#include "core/cli/calibrate.h"
#include "core/cli/calibrate_write.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/cli/measure.h"
#include "core/cli/rows.h"
#include "core/measured/score.h"
#include "core/plan/tunable.h"

namespace orch::cli {
namespace {

// How good the rows are predicted by a calibration; by the datasheets if there is none.
measured::Score score_of(const App& app, const std::vector<measured::Sample>& samples,
                         const Group& group, const plan::Calibration* by) {
  estimate::Estimator estimator;
  backend::Work work;
  std::vector<measured::Judged> judged;
  for (const auto i : group.members) {
    const auto& sample = samples[i];
    if (!app.backends().of(*sample.run.strategy).work(sample.run, false, work)) continue;
    const auto at = by ? fit::applied(*by, *sample.run.partition) : *sample.run.partition;
    const double era = by ? by->era(sample.date) : 1;
    judged.push_back(
        {&sample, prediction_of(estimator.estimate(sample.run, work, at), sample, era)});
  }
  std::vector<const measured::Judged*> rows;
  for (const auto& row : judged) rows.push_back(&row);
  return measured::score_table(rows);
}

Result<std::vector<Fitted>> fit_all(const App& app, const MeasuredRows& rows, Start start) {
  const auto& samples = rows.samples.samples;
  const auto observations = observe(app, samples);
  if (!observations) return observations.error();
  const auto apart = rows.apart();
  std::vector<Fitted> out;
  for (auto& group : groups_of(samples)) {
    std::erase_if(group.members, [&](std::size_t i) {
      const auto& sample = samples[i];
      return apart.contains(sample.id) || (!sample.step_seconds && !sample.memory_bytes);
    });
    if (group.members.empty()) continue;
    Fitted made{group, {}, rows_text(samples, group.members), {}, {}};
    made.calibration =
        fit_group(group, samples, *observations, start, [](std::size_t) { return true; });
    made.before = score_of(app, samples, group, start == Start::present ? group.present : nullptr);
    made.after = score_of(app, samples, group, &made.calibration);
    out.push_back(std::move(made));
  }
  return out;
}

std::string percent(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", *error) : "-";
}

std::string partitions_text(const Group& group) {
  std::vector<std::string> names;
  for (const auto* partition : group.partitions) names.push_back(partition->name);
  return join(names, ", ");
}

std::string table(const Fitted& outcome, bool markdown) {
  const auto& group = outcome.group;
  auto out = fmt::format("{}{} {}, {}: {}\n", markdown ? "### " : "", group.cluster->name,
                         partitions_text(group), join(group.backends, " and "), outcome.rows);
  out +=
      fmt::format("{}step time {} off before, {} after; memory {} before, {} after\n",
                  markdown ? "\n" : "  ", percent(outcome.before.mape), percent(outcome.after.mape),
                  percent(outcome.before.memory_mape), percent(outcome.after.memory_mape));
  out += markdown ? "\n| constant | before | fitted |\n| --- | ---: | ---: |\n" : "";
  auto base = outcome.was();
  const auto line = [&](std::string_view name, const std::string& was, const std::string& now) {
    out += markdown ? fmt::format("| {} | {} | {} |\n", name, was, now)
                    : fmt::format("  {:<24}{:>12}  -> {}\n", name, was, now);
  };
  for (const auto list : {plan::time_tunables(), plan::memory_tunables(), plan::spread_tunables()})
    for (const auto& tunable : list) {
      const auto found = outcome.calibration.constants.find(std::string(tunable.name));
      if (found == outcome.calibration.constants.end()) continue;
      line(tunable.name, plan::shown(tunable.name, tunable.in(base).value),
           plan::shown(tunable.name, found->second.value));
    }
  for (const auto& era : outcome.calibration.eras)
    line("time until " + era.until, fmt::format("{:.4g}", outcome.era_was(era.until)),
         fmt::format("{:.4g}", era.time.value));
  return out;
}

void number(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  value ? json.field(key, *value) : json.null(key);
}

void put(JsonWriter& json, const Fitted& outcome) {
  json.begin().field("cluster", outcome.group.cluster->name).begin_list("partitions");
  for (const auto* partition : outcome.group.partitions) json.item(partition->name);
  json.end_list().begin_list("backends");
  for (const auto& backend : outcome.group.backends) json.item(backend);
  json.end_list().field("rows", outcome.rows);
  number(json, "mape_before", outcome.before.mape);
  number(json, "mape_after", outcome.after.mape);
  number(json, "memory_mape_before", outcome.before.memory_mape);
  number(json, "memory_mape_after", outcome.after.memory_mape);
  json.begin("constants");
  for (const auto& [name, constant] : outcome.calibration.constants)
    json.field(name, constant.value);
  json.end().begin_list("eras");
  for (const auto& era : outcome.calibration.eras)
    json.begin().field("until", era.until).field("time", era.time.value).end();
  json.end_list().end();
}

std::string json(const std::vector<Fitted>& outcomes, const measured::Samples& samples) {
  JsonWriter writer;
  writer.begin().field("version", std::int64_t{1}).begin_list("fitted");
  for (const auto& outcome : outcomes) put(writer, outcome);
  writer.end_list().begin_list("skipped");
  for (const auto& row : samples.skipped)
    writer.begin().field("id", row.id).field("reason", row.reason).end();
  writer.end_list().end();
  return std::move(writer).text();
}

// What no constant was fitted to, and why.
std::string unused(const MeasuredRows& rows) {
  std::string out;
  const auto line = [&](std::size_t n, const char* what) {
    if (n > 0) out += fmt::format("not used: {} {}\n", n, what);
  };
  line(rows.samples.suspect, "suspect");
  line(rows.samples.duplicates, "printed twice");
  line(static_cast<std::size_t>(std::count_if(
           rows.samples.samples.begin(), rows.samples.samples.end(),
           [apart = rows.apart()](const auto& sample) { return apart.contains(sample.id); })),
       "set apart as unexplained");
  for (const auto& row : rows.samples.skipped)
    out += fmt::format("not used: {}: {}\n", printable(row.id), row.reason);
  return out;
}

}  // namespace

int calibrate_command(const CalibrateArguments& arguments) {
  if (auto status = check_output(arguments.output); !status) return fail(status.error(), kUsage);
  if (arguments.this_machine) return measure_command(arguments);
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  if (auto status = check_cluster(**app, arguments.files, arguments.cluster); !status)
    return fail(status.error(), kUsage);
  const auto rows = load_rows(**app, arguments.files, arguments.cluster);
  if (!rows) return fail(rows.error(), kError);
  const auto fitted = fit_all(**app, *rows, arguments.fresh ? Start::datasheet : Start::present);
  if (!fitted) return fail(fitted.error(), kError);
  std::fputs(unused(*rows).c_str(), stderr);
  if (fitted->empty())
    return fail(Error{"orch calibrate", "no row gives a time or a memory of a run of ours",
                      "orch validate lists the reasons under skipped"},
                kError);
  if (arguments.common.format == "json") {
    print(json(*fitted, rows->samples));
  } else {
    for (const auto& outcome : *fitted)
      print(table(outcome, arguments.common.format == "md") + "\n");
  }
  if (!arguments.write && arguments.output.empty()) {
    std::fputs(
        "nothing was written: --write puts this into the cluster's file, --output into another\n",
        stderr);
    return kOk;
  }
  if (auto status = write_clusters(**app, *fitted, arguments.output); !status)
    return fail(status.error(), kError);
  std::fputs("next: orch validate\n", stderr);
  return kOk;
}

}  // namespace orch::cli
