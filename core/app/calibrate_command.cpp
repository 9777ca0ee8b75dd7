#include <fmt/format.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/app/app.h"
#include "core/app/calibrate.h"
#include "core/app/commands.h"
#include "core/app/measure.h"
#include "core/app/rows.h"
#include "core/plan/stack.h"
#include "core/plan/tunable.h"
#include "core/record/published/score.h"

namespace orch::app {
namespace {

// Some rows of a study, what was fitted to them, and how well it meets them.
struct Refit {
  std::string title;
  std::string rows;
  std::vector<std::string> names;          // of the partitions, or of the stack
  const char* kind;                        // cluster or stack
  std::string cluster;
  std::map<std::string, plan::Constant> was, now;
  std::vector<plan::Era> eras_were, eras;
  published::Score before, after;
};

using PartitionOf = std::function<plan::Partition(std::size_t)>;
using Eras = std::function<double(std::size_t)>;

published::Score score_of(const std::vector<published::Sample>& samples, const Study& study,
                         const std::vector<std::size_t>& members, const PartitionOf& place,
                         const Eras& era) {
  estimate::Estimator estimator;
  std::vector<published::Judged> judged;
  for (const auto i : members) {
    const auto& o = study.observations[i];
    judged.push_back(
        {&samples[i], record::estimated_of(estimator.estimate(o.run, o.work, place(i)), era(i))});
  }
  std::vector<const published::Judged*> rows;
  for (const auto& row : judged) rows.push_back(&row);
  return published::score_table(rows);
}

std::string text_of(const Study& study, const std::vector<std::size_t>& members) {
  std::vector<const calibrate::Observation*> rows;
  for (const auto i : members) rows.push_back(&study.observations[i]);
  return calibrate::rows_text(rows);
}

std::map<std::string, plan::Constant> constants_of(plan::Partition at) {
  std::map<std::string, plan::Constant> out;
  for (const auto& tunable : plan::all_tunables()) out[std::string(tunable.name)] = tunable.in(at);
  return out;
}

// What was fitted, machine by machine and then stack by stack, with the scores of its rows.
class Refits {
 public:
  Refits(const std::vector<published::Sample>& samples, const Study& study,
         const calibrate::Fitted& fitted, calibrate::Options options,
         std::function<bool(std::size_t)> use)
      : samples_(samples),
        study_(study),
        fitted_(fitted),
        options_(options),
        use_(std::move(use)) {}

  std::vector<Refit> all() const {
    std::vector<Refit> out;
    for (std::size_t m = 0; m < study_.machines.size(); ++m)
      if (!study_.machines[m].held && !fitted_.machines[m].constants.empty())
        out.push_back(of_machine(m));
    for (std::size_t s = 0; s < study_.stacks.size() && options_.stacks; ++s)
      if (!fitted_.stacks[s].constants.empty()) out.push_back(of_stack(s));
    return out;
  }

 private:
  bool present() const { return options_.start == calibrate::Start::present; }

  Refit of_machine(std::size_t m) const {
    const auto& first = *study_.machines[m].partitions.front();
    Refit out;
    out.kind = "cluster";
    out.cluster = study_.clusters[m]->name;
    for (const auto* partition : study_.machines[m].partitions)
      out.names.push_back(partition->name);
    out.title = out.cluster + " " + join(out.names, ", ");
    out.was = constants_of(present() ? first.as_measured() : first);
    out.now = fitted_.machines[m].constants;
    out.eras = fitted_.machines[m].eras;
    if (present()) out.eras_were = study_.machines[m].eras;
    score([&](const calibrate::Observation& o) { return o.machine == m; }, out);
    return out;
  }

  Refit of_stack(std::size_t s) const {
    Refit out;
    out.kind = "stack";
    out.names = {study_.stacks[s]->name};
    out.title = "factors of " + out.names.front();
    if (present()) out.was = study_.stacks[s]->constants;
    out.now = fitted_.stacks[s].constants;
    score([&](const calibrate::Observation& o) { return o.stack == static_cast<int>(s); }, out);
    return out;
  }

  void score(const std::function<bool(const calibrate::Observation&)>& is, Refit& out) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < study_.observations.size(); ++i)
      if (use_(i) && is(study_.observations[i])) members.push_back(i);
    out.rows = text_of(study_, members);
    out.before = score_of(
        samples_, study_, members,
        [&](std::size_t i) {
          const auto& run = study_.observations[i].run;
          if (present()) return plan::priced_at(run);
          const auto* on = options_.stacks ? nullptr : plan::stack_of(run);
          return on ? plan::on_stack(*run.partition, on->stack) : *run.partition;
        },
        [&](std::size_t i) {
          return present() ? samples_[i].run.partition->era(samples_[i].date) : 1;
        });
    out.after = score_of(
        samples_, study_, members, [&](std::size_t i) { return study_.place(fitted_, i); },
        [&](std::size_t i) {
          return fitted_.machines[study_.observations[i].machine].era(samples_[i].date);
        });
  }

  const std::vector<published::Sample>& samples_;
  const Study& study_;
  const calibrate::Fitted& fitted_;
  calibrate::Options options_;
  std::function<bool(std::size_t)> use_;
};

std::string percent(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", *error) : "-";
}

double era_was(const Refit& refit, const std::string& until) {
  for (const auto& era : refit.eras_were)
    if (era.until == until) return era.time.value;
  return 1;
}

std::string table(const Refit& refit, bool markdown) {
  auto out = fmt::format("{}{}: {}\n", markdown ? "### " : "", refit.title, refit.rows);
  out += fmt::format("{}step time {} off before, {} after; memory {} before, {} after\n",
                     markdown ? "\n" : "  ", percent(refit.before.mape), percent(refit.after.mape),
                     percent(refit.before.memory_mape), percent(refit.after.memory_mape));
  out += markdown ? "\n| constant | before | fitted |\n| --- | ---: | ---: |\n" : "";
  const auto line = [&](std::string_view name, const std::string& was, const std::string& now) {
    out += markdown ? fmt::format("| {} | {} | {} |\n", name, was, now)
                    : fmt::format("  {:<24}{:>12}  -> {}\n", name, was, now);
  };
  const bool factors = std::string_view(refit.kind) == "stack";
  for (const auto& tunable : plan::all_tunables()) {
    const auto now = refit.now.find(std::string(tunable.name));
    if (now == refit.now.end()) continue;
    const auto was = refit.was.find(now->first);
    const std::string_view name = factors ? std::string_view() : tunable.name;
    const auto bound = now->second.origin.find(", at its ");
    line(tunable.name, was == refit.was.end() ? "1" : plan::shown(name, was->second.value),
         plan::shown(name, now->second.value) +
             (bound == std::string::npos ? "" : now->second.origin.substr(bound)));
  }
  for (const auto& era : refit.eras)
    line("time until " + era.until, fmt::format("{:.4g}", era_was(refit, era.until)),
         fmt::format("{:.4g}", era.time.value));
  return out;
}

void number(JsonWriter& json, std::string_view key, const std::optional<double>& value) {
  value ? json.field(key, *value) : json.null(key);
}

void put(JsonWriter& json, const Refit& refit) {
  json.begin();
  if (!refit.cluster.empty()) {
    json.field("cluster", refit.cluster).begin_list("partitions");
    for (const auto& name : refit.names) json.item(name);
    json.end_list();
  } else {
    json.field("stack", refit.names.front());
  }
  json.field("rows", refit.rows);
  number(json, "mape_before", refit.before.mape);
  number(json, "mape_after", refit.after.mape);
  number(json, "memory_mape_before", refit.before.memory_mape);
  number(json, "memory_mape_after", refit.after.memory_mape);
  json.begin("constants");
  for (const auto& [name, constant] : refit.now) json.field(name, constant.value);
  json.end().begin_list("eras");
  for (const auto& era : refit.eras)
    json.begin().field("until", era.until).field("time", era.time.value).end();
  json.end_list().end();
}

std::string json(const std::vector<Refit>& refits, const published::Samples& samples) {
  JsonWriter writer;
  writer.begin().field("version", std::int64_t{2}).begin_list("fitted");
  for (const auto& refit : refits) put(writer, refit);
  writer.end_list().begin_list("skipped");
  for (const auto& row : samples.skipped)
    writer.begin().field("id", row.id).field("reason", row.reason).end();
  writer.end_list().end();
  return std::move(writer).text();
}

void hold_others(const std::vector<std::string>& only, Study& study) {
  for (std::size_t m = 0; m < study.machines.size() && !only.empty(); ++m)
    study.machines[m].held =
        std::find(only.begin(), only.end(), study.clusters[m]->name) == only.end();
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

Ending calibrate_command(App& app, const CalibrateArguments& arguments, Console& console) {
  if (auto status = check_output(arguments.output); !status) return {status.error(), Exit::usage};
  if (arguments.this_machine) return measure_command(app, arguments, console);
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
  const auto start = arguments.fresh ? calibrate::Start::datasheet : calibrate::Start::present;
  const bool stacks = !arguments.stacks.empty();
  const Calibrated calibrated{*all, all->fit({start, stacks}, use)};
  const auto refits = Refits(samples, *all, calibrated.fitted, {start, stacks}, use).all();
  console.note(unused(*rows));
  if (refits.empty())
    return Error{"orch calibrate", "no row gives a time or a memory of a run of ours",
                 "orch validate lists the reasons under skipped"};
  if (arguments.common.format == "json") {
    console.print(json(refits, rows->samples));
  } else {
    for (const auto& refit : refits)
      console.print(table(refit, arguments.common.format == "md") + "\n");
  }
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
