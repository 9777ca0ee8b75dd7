#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/app/app.h"
#include "core/app/calibrate.h"
#include "core/app/changed.h"
#include "core/app/cluster_file.h"
#include "core/app/commands.h"
#include "core/app/failures.h"
#include "core/app/measure.h"
#include "core/app/rows.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/hardware/hardware.h"
#include "core/plan/hardware/write.h"
#include "core/plan/stack.h"
#include "core/plan/tunable.h"
#include "core/record/planned.h"
#include "core/record/published/score.h"

namespace orch::app {
namespace {

// Rows of a study, the constants fitted to them, and the score of the fit.
struct GroupFit {
  std::string title;
  std::string rows;
  std::vector<std::string> names;  // names of the partitions, or of the stack
  const char* kind;                // cluster or stack
  std::string cluster;
  std::map<std::string, plan::Constant> was, now;
  std::vector<plan::SoftwareEra> eras_were, eras;
  published::GroupScore before, after;
};

using PartitionOf = std::function<plan::Partition(std::size_t)>;
using Eras = std::function<double(std::size_t)>;

published::GroupScore score_of(const std::vector<published::PublishedSample>& samples,
                               const FitInput& study, const std::vector<std::size_t>& members,
                               const PartitionOf& place, const Eras& era) {
  estimate::Estimator estimator;
  std::vector<published::JudgedSample> judged;
  for (const auto i : members) {
    const auto& o = study.observations[i];
    judged.push_back(
        {&samples[i], record::estimated_of(estimator.estimate(o.run, o.work, place(i)), era(i))});
  }
  std::vector<const published::JudgedSample*> rows;
  for (const auto& row : judged) rows.push_back(&row);
  return published::score_table(rows);
}

std::string text_of(const FitInput& study, const std::vector<std::size_t>& members) {
  std::vector<const calibrate::Observation*> rows;
  for (const auto i : members) rows.push_back(&study.observations[i]);
  return calibrate::rows_text(rows);
}

std::map<std::string, plan::Constant> constants_of(plan::Partition at) {
  std::map<std::string, plan::Constant> out;
  for (const auto& tunable : plan::all_tunables()) out[std::string(tunable.name)] = tunable.in(at);
  return out;
}

// The results of a fit, and its input.
struct CalibrationResult {
  const std::vector<published::PublishedSample>& samples;
  const FitInput& study;
  calibrate::FitOptions options;
  std::function<bool(std::size_t)> use;
  calibrate::FitResult fitted;

  bool present() const { return options.start == calibrate::FitStart::present; }
};

// Computes the score of a refit over the observations for which `is` is true.
void score(const CalibrationResult& c, const std::function<bool(const calibrate::Observation&)>& is,
           GroupFit& out) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < c.study.observations.size(); ++i)
    if (c.use(i) && is(c.study.observations[i])) members.push_back(i);
  out.rows = text_of(c.study, members);
  out.before = score_of(
      c.samples, c.study, members,
      [&](std::size_t i) {
        const auto& run = c.study.observations[i].run;
        if (c.present()) return plan::priced_at(run);
        const auto* on = c.options.stacks ? nullptr : plan::stack_of(run);
        return on ? plan::on_stack(*run.partition, on->stack) : *run.partition;
      },
      [&](std::size_t i) {
        return c.present() ? c.samples[i].run.partition->era(c.samples[i].date) : 1;
      });
  out.after = score_of(
      c.samples, c.study, members, [&](std::size_t i) { return c.study.place(c.fitted, i); },
      [&](std::size_t i) {
        return c.fitted.machines[c.study.observations[i].machine].era(c.samples[i].date);
      });
}

GroupFit of_machine(const CalibrationResult& c, std::size_t m) {
  const auto& machine = c.study.machines[m];
  const auto& first = *machine.partitions.front();
  GroupFit out;
  out.kind = "cluster";
  out.cluster = c.study.clusters[m]->name;
  for (const auto* partition : machine.partitions) out.names.push_back(partition->name);
  out.title = out.cluster + " " + join(out.names, ", ");
  out.was = constants_of(c.present() ? first.as_measured() : first);
  out.now = c.fitted.machines[m].constants;
  out.eras = c.fitted.machines[m].eras;
  if (c.present()) out.eras_were = machine.eras;
  score(
      c, [&](const calibrate::Observation& o) { return o.machine == m; }, out);
  return out;
}

GroupFit of_stack(const CalibrationResult& c, std::size_t s) {
  GroupFit out;
  out.kind = "stack";
  out.names = {c.study.stacks[s]->name};
  out.title = "factors of " + out.names.front();
  if (c.present()) out.was = c.study.stacks[s]->constants;
  out.now = c.fitted.stacks[s].constants;
  score(
      c, [&](const calibrate::Observation& o) { return o.stack == static_cast<int>(s); }, out);
  return out;
}

// One for each machine and then each stack, with the scores of its rows.
std::vector<GroupFit> refits_of(const CalibrationResult& c) {
  std::vector<GroupFit> out;
  for (std::size_t m = 0; m < c.study.machines.size(); ++m)
    if (!c.study.machines[m].held && !c.fitted.machines[m].constants.empty())
      out.push_back(of_machine(c, m));
  for (std::size_t s = 0; s < c.study.stacks.size() && c.options.stacks; ++s)
    if (!c.fitted.stacks[s].constants.empty()) out.push_back(of_stack(c, s));
  return out;
}

double era_was(const GroupFit& refit, const std::string& until) {
  for (const auto& era : refit.eras_were)
    if (era.until == until) return era.time.value;
  return 1;
}

// ", at its upper bound" for a fitted constant that reached its bound.
std::string bound_text(const plan::Constant& constant) {
  const auto at = constant.origin.find(", at its ");
  return at == std::string::npos ? "" : constant.origin.substr(at);
}

std::vector<ChangedConstant> changed_by(const GroupFit& refit) {
  std::vector<ChangedConstant> out;
  const bool factors = std::string_view(refit.kind) == "stack";
  for (const auto& tunable : plan::all_tunables()) {
    const auto now = refit.now.find(std::string(tunable.name));
    if (now == refit.now.end()) continue;
    const auto was = refit.was.find(now->first);
    const double before = was == refit.was.end() ? 1 : was->second.value;
    const std::string_view as = factors ? std::string_view() : tunable.name;
    out.push_back({refit.title, std::string(tunable.name), before, now->second.value,
                   plan::shown(as, before),
                   plan::shown(as, now->second.value) + bound_text(now->second)});
  }
  for (const auto& era : refit.eras) {
    const double was = era_was(refit, era.until);
    out.push_back({refit.title, "time until " + era.until, was, era.time.value,
                   fmt::format("{:.4g}", was), fmt::format("{:.4g}", era.time.value)});
  }
  return out;
}

std::string percent(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", *error) : "-";
}

std::string errors_text(const GroupFit& refit) {
  return fmt::format("step time {} off before, {} after; memory {} before, {} after",
                     percent(refit.before.mape), percent(refit.after.mape),
                     percent(refit.before.memory_mape), percent(refit.after.memory_mape));
}

show::Table refits_table(const std::vector<GroupFit>& refits) {
  std::vector<const GroupFit*> rows;
  for (const auto& refit : refits) rows.push_back(&refit);
  show::Columns<GroupFit> columns(std::move(rows));
  columns.add("name", [](const GroupFit& r) { return r.title; });
  columns.add("kind", [](const GroupFit& r) { return r.kind; });
  columns.add("cluster", [](const GroupFit& r) { return r.cluster; });
  columns.add("names", [](const GroupFit& r) { return join(r.names, ", "); });
  columns.add("rows", [](const GroupFit& r) { return r.rows; });
  const auto add = [&](const char* name, auto score, auto error) {
    columns.add(name, [=](const GroupFit& r) {
      const auto& value = r.*score.*error;
      return value ? show::Cell(*value) : show::Cell();
    });
  };
  using published::GroupScore;
  add("mape_before", &GroupFit::before, &GroupScore::mape);
  add("mape_after", &GroupFit::after, &GroupScore::mape);
  add("memory_mape_before", &GroupFit::before, &GroupScore::memory_mape);
  add("memory_mape_after", &GroupFit::after, &GroupScore::memory_mape);
  return columns.table("fitted");
}

show::Table skipped_table(const published::PublishedSamples& samples) {
  show::Columns<published::SkippedRow> columns(samples.skipped);
  columns.add("id", [](const published::SkippedRow& row) { return row.id; });
  columns.add("reason", [](const published::SkippedRow& row) { return row.reason; });
  return columns.table("skipped");
}

// A table for each refit, and for programs one table of all.
show::Answer answer_of(const std::vector<GroupFit>& refits,
                       const published::PublishedSamples& samples) {
  show::Answer out{"", "", {show::for_programs(refits_table(refits))}};
  std::vector<ChangedConstant> all;
  for (const auto& refit : refits) {
    auto changed = changed_by(refit);
    all.insert(all.end(), changed.begin(), changed.end());
    auto table = changed_table("", refit.title + ": " + refit.rows, "fitted", std::move(changed));
    table.above = {errors_text(refit)};
    out.sections.push_back(std::move(table));
  }
  out.sections.push_back(
      show::for_programs(changed_table("constants", "", "fitted", std::move(all))));
  out.sections.push_back(skipped_table(samples));
  return out;
}

void hold_others(const std::vector<std::string>& only, FitInput& study) {
  for (std::size_t m = 0; m < study.machines.size() && !only.empty(); ++m)
    study.machines[m].held =
        std::find(only.begin(), only.end(), study.clusters[m]->name) == only.end();
}

// The rows that were not used, and why.
std::string unused(const MeasuredRows& rows) {
  std::string out;
  const auto line = [&](std::size_t n, const char* what) {
    if (n > 0) out += fmt::format("not used: {} {}\n", n, what);
  };
  line(rows.samples.suspect, "suspect");
  line(rows.samples.duplicates, "duplicates");
  line(static_cast<std::size_t>(std::count_if(
           rows.samples.samples.begin(), rows.samples.samples.end(),
           [apart = rows.apart()](const auto& sample) { return apart.contains(sample.id); })),
       "set apart as unexplained");
  for (const auto& row : rows.samples.skipped)
    out += fmt::format("not used: {}: {}\n", printable(row.id), row.reason);
  return out;
}

// The cluster's file with the new constants of its partitions; nothing if there are none.
Result<std::string> rewritten(const plan::Cluster& cluster, const std::string& name,
                              const CalibrationResult& calibrated) {
  auto text = read_file(cluster.file);
  const auto& study = calibrated.study;
  for (std::size_t m = 0; m < study.machines.size(); ++m) {
    if (study.clusters[m] != &cluster || study.machines[m].held ||
        calibrated.fitted.machines[m].constants.empty())
      continue;
    for (const auto* partition : study.machines[m].partitions) {
      if (!text) return text.error();
      text = hardware::with_calibration(*text, partition->name, calibrated.fitted.machines[m],
                                        cluster.file);
    }
  }
  if (text && name != cluster.name) rename_cluster(*text, name);
  return text;
}

// The file of stacks with the new factors of the stacks that it contains.
Result<std::string> stacks_text(const CalibrationResult& calibrated, const std::string& file) {
  auto text = read_file(file);
  for (const auto& stack : calibrated.fitted.stacks) {
    if (!text) return text;
    if (stack.seen.rows > 0) text = hardware::with_factors(*text, stack, file);
  }
  if (!text) return text;
  if (const auto again = hardware::parse_stacks(*text, file); !again) return again.error();
  return text;
}

// Writes the results into the files of their clusters, or into one other file (if there are several
// clusters, that of the same name), and stacks into theirs. All texts are made and read back before
// the first is written.
Status write_calibrated(App& app, const CalibrationResult& calibrated,
                        const CalibrateArguments& arguments, Console& console) {
  std::map<std::string, const plan::Cluster*> clusters;
  for (std::size_t m = 0; m < calibrated.study.machines.size(); ++m)
    if (!calibrated.study.machines[m].held)
      clusters[calibrated.study.clusters[m]->name] = calibrated.study.clusters[m];
  if (!arguments.output.empty() && clusters.size() > 1) {
    const auto named = clusters.find(fs::path(arguments.output).stem().string());
    if (named == clusters.end())
      return Error{"--output", "the rows are of several clusters",
                   "call the file like one of them, or use --write"};
    clusters = {*named};
  }
  if (arguments.output.empty() && !arguments.write) clusters.clear();
  std::map<std::string, std::string> texts;
  for (const auto& [name, cluster] : clusters) {
    const auto to = cluster_file(*cluster, arguments.output);
    auto text = rewritten(*cluster, to.stem().string(), calibrated);
    if (!text) return text.error();
    if (auto again = read_again(*cluster, *text, to, app.clusters()); !again) return again.error();
    texts[to.string()] = std::move(*text);
  }
  if (!arguments.stacks.empty()) {
    auto stacks = stacks_text(calibrated, arguments.stacks);
    if (!stacks) return stacks.error();
    texts[arguments.stacks] = std::move(*stacks);
  }
  for (const auto& [to, text] : texts) {
    if (auto status = write_output(to, text); !status) return status;
    console.note(fmt::format("written to {}\n", printable(to)));
  }
  return {};
}

}  // namespace

Ending calibrate_command(App& app, const CalibrateArguments& arguments, Console& console) {
  if (auto status = check_cluster_file(arguments.output); !status)
    return {status.error(), Exit::usage};
  if (arguments.this_machine) return measure_command(app, arguments, console);
  if (arguments.failures) return failures_command(app, arguments, console);
  if (!arguments.files.empty()) app.look_beside(arguments.files.front());
  if (auto status = check_cluster(app, arguments.cluster); !status)
    return {status.error(), Exit::usage};
  const auto rows = load_rows(app, arguments.files, arguments.cluster);
  if (!rows) return rows.error();
  const auto& samples = rows->samples.samples;
  auto all = study(app, samples);
  if (!all) return all.error();
  hold_others(arguments.only, *all);
  const auto apart = rows->apart();
  const auto use = [&](std::size_t i) {
    const auto& sample = samples[i];
    return !apart.contains(sample.id) && !sample.assumed_sizes &&
           (sample.step_seconds || sample.memory_bytes);
  };
  const auto start =
      arguments.fresh ? calibrate::FitStart::datasheet : calibrate::FitStart::present;
  const calibrate::FitOptions options{start, !arguments.stacks.empty()};
  const CalibrationResult calibrated{samples, *all, options, use, all->fit(options, use)};
  const auto refits = refits_of(calibrated);
  console.note(unused(*rows));
  if (refits.empty())
    return Error{"orch calibrate", "no row gives a time or a memory of a run of ours",
                 "orch validate lists the reasons under skipped"};
  arguments.common.give(answer_of(refits, rows->samples), console);
  if (!arguments.write && arguments.output.empty() && arguments.stacks.empty()) {
    console.note(
        "nothing was written: --write puts this into the cluster's file, --output into another; "
        "--stacks FILE fits the software too\n");
    return Exit::ok;
  }
  if (auto status = write_calibrated(app, calibrated, arguments, console); !status)
    return status.error();
  console.note("next: orch validate\n");
  return Exit::ok;
}

}  // namespace orch::app
