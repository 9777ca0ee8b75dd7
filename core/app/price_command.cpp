#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <variant>

#include "core/app/around.h"
#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/app/priced_script.h"
#include "core/base/flat_settings.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/defaults.h"
#include "core/price/search/search.h"
#include "core/show/tables/plan.h"

namespace orch::app {
namespace {

constexpr double kMostLayouts = 1e6;  // configurations; more take too long beside a price
constexpr double kGain = 0.98;        // of the time: less of a gain is not worth a change

using LaunchFlags = std::map<std::string, std::string>;  // the whole flag by its name

// The run as that framework would be started with it, beside the script's own run: with its
// training and its name, which a search does not know.
plan::Run as_started(plan::Run run, const plan::Run& own, const std::string& framework) {
  run.framework = framework;
  run.training = own.training;
  run.id = own.id;
  return run;
}

// The flags of a rendered launch, and the settings of its files.
LaunchFlags flags_of(App& app, const plan::Run& run) {
  LaunchFlags out;
  if (run.framework.empty()) return out;
  const auto launch = app.frameworks().launch(run);
  if (!launch) return out;
  std::string* open = nullptr;
  for (const auto& word : launch->argv) {
    if (word.text.starts_with("--"))
      open = &(out[word.text] = word.text);
    else if (open)
      *open += " " + word.shell();
  }
  for (const auto& file : launch->files) {
    const auto settings = flat_settings(file.name, file.text);
    if (!settings || !(file.name.ends_with(".json") || file.name.ends_with(".toml"))) continue;
    for (const auto& [name, value] : *settings)
      out[file.name + name] = fmt::format("{}: {} = {}", file.name, name, value);
  }
  return out;
}

// What the framework refuses of a run, by its fields.
std::vector<std::string> refused(App& app, const plan::Run& run) {
  if (run.framework.empty()) return {};
  const auto launch = app.frameworks().launch(run);
  return mapped(launch ? launch->refused : launch.error(),
                [](const Error& error) { return error.place; });
}

// "with --micro-batch-size 1; without --sequence-parallel": from one launch to the other.
std::string changed_flags(App& app, const plan::Run& from, const plan::Run& to) {
  const auto before = flags_of(app, from), after = flags_of(app, to);
  std::vector<std::string> with, without;
  for (const auto& [name, text] : after)
    if (const auto old = before.find(name); old == before.end() || old->second != text)
      with.push_back(text);
  for (const auto& [name, text] : before)
    if (!after.contains(name)) without.push_back(name);
  std::string out;
  if (!with.empty()) out = "with " + join(with, ", ");
  if (!without.empty()) out += (out.empty() ? "" : "; ") + ("without " + join(without, ", "));
  return out;
}

// Layouts on the same GPUs that fit and are faster than the script's, the fastest first.
struct FasterLayouts {
  std::vector<plan::Planned> runs;
  double evaluated = 0;
  bool searched = false;
};

FasterLayouts faster_layouts(App& app, const PlannedExperiment& planned,
                             const std::string& framework, std::size_t top) {
  FasterLayouts out;
  const auto& own = planned.runs.front();
  search::OpenFields opening;
  if (has_flash_attention(own.run)) opening.open.push_back("flash_attention");
  const auto space = search::SearchSpace::make(planned.experiment, app.find_cluster(), opening);
  if (!space || search::size_of(**space, interrupted) > kMostLayouts) return out;
  const auto known = refused(app, as_started(own.run, own.run, framework));
  search::SearchOptions options;
  options.interrupted = interrupted;
  options.top = top;
  // A layout may be refused for what the script's own is refused for, such as its data.
  options.accept = [&](const plan::Run& run, const plan::Estimate&) -> Result<bool> {
    return std::ranges::all_of(refused(app, as_started(run, own.run, framework)),
                               [&](const auto& place) { return contains(known, place); });
  };
  const auto found = search::search(**space, app.backends(), options);
  if (!found || !found->complete) return out;
  out.searched = true;
  out.evaluated = found->evaluated;
  if (found->empty()) return out;
  const bool fits = own.estimate.fit != plan::MemoryFit::oom;
  for (const auto& score : found->questions.front().fastest) {
    if (out.runs.size() == top) break;
    std::vector<Error> reasons;
    auto run = search::run_at(**space, app.backends(), score.place, reasons);
    run.training = own.run.training;
    auto better = app.explain(std::move(run));
    if (!better || !reasons.empty()) continue;
    if (fits && better->estimate.days_to_train > kGain * own.estimate.days_to_train) break;
    out.runs.push_back(std::move(*better));
  }
  return out;
}

std::string what_was_read(const PricedScript& script) {
  const auto& framework = script.framework;
  auto out = fmt::format("{}, line {}: {}{}", script.name, script.job.line, script.job.program,
                         framework.empty() ? "" : ", read as " + framework);
  if (!script.job.other_lines.empty())
    out += fmt::format(
        "; {} in it {} not read (line {})", plural(script.job.other_lines.size(), "other launch"),
        script.job.other_lines.size() == 1 ? "is" : "are", script.job.other_lines.front());
  return out;
}

show::Findings facts(const PricedScript& script) {
  show::Findings out;
  const auto& reading = script.reading;
  for (const auto& each : script.assumed) out.list.push_back({"assumed", "assumed: " + each});
  if (!reading.ignored.empty())
    out.list.push_back({"ignored",
                        fmt::format("{} ignored: {}", plural(reading.ignored.size(), "flag"),
                                    join(reading.ignored, ", ")),
                        show::Mark::warning});
  if (reading.without_effect > 0)
    out.list.push_back({"without_effect", fmt::format("{} without an effect on the estimate",
                                                      plural(reading.without_effect, "flag"))});
  return out;
}

void add_faster(App& app, const PlannedExperiment& planned, const std::string& framework,
                const FasterLayouts& faster, show::Answer& to) {
  const auto& own = planned.runs.front();
  const bool fits = own.estimate.fit != plan::MemoryFit::oom;
  if (!faster.searched) return;
  if (faster.runs.empty()) {
    to.sections.push_back(
        show::Findings{"",
                       {{"faster", fmt::format("{} on the same GPUs, of {}",
                                               fits ? "no layout is 2 % faster" : "no layout fits",
                                               plural(faster.evaluated, "configuration"))}}});
    return;
  }
  auto table =
      tables::runs_table({.experiment = &planned.experiment,
                          .runs = mapped(faster.runs, [](const auto& run) { return &run; })},
                         0);
  table.name = "faster";
  table.title = fits ? "Faster on the same GPUs" : "What fits on the same GPUs";
  to.sections.push_back(std::move(table));
  const auto& best = faster.runs.front();
  const double share = own.estimate.days_to_train / best.estimate.days_to_train - 1;
  const auto flags = changed_flags(app, as_started(own.run, own.run, framework),
                                   as_started(best.run, own.run, framework));
  show::Findings out;
  if (!flags.empty())
    out.list.push_back(
        {"flags", fmt::format("the first{}: {}",
                              fits ? fmt::format(", {:.0f} % faster", 100 * share) : "", flags)});
  to.sections.push_back(std::move(out));
}

Status write_experiment(const PriceArguments& arguments, const PricedScript& script) {
  if (arguments.write.empty()) return {};
  if (const auto old = read_file(arguments.write);
      old && !(old->starts_with("-- Read from ") && old->find("by orch price.") < 500))
    return Error{printable(arguments.write), "exists already, and not written by orch price",
                 "give --write another name"};
  return write_output(arguments.write, script.source.text);
}

// The plan of the script's run. If only its framework refuses it, it is priced without one.
std::variant<PlannedExperiment, Ending> plan_script(App& app, PricedScript& script) {
  PlanOptions options;
  options.runs.clear();
  auto planned = plan_where(app, script.source, options, "");
  const auto* first = std::get_if<PlannedExperiment>(&planned);
  if (!first || !first->runs.empty() || script.reading.framework.empty()) return planned;
  auto bare = script;
  bare.forget_framework(app);
  auto again = plan_where(app, bare.source, options, "");
  const auto* second = std::get_if<PlannedExperiment>(&again);
  if (!second || second->runs.empty()) return planned;
  std::vector<std::string> reasons;
  for (const auto& rejected : first->rejected)
    for (const auto& reason : rejected.reasons)
      reasons.push_back(fmt::format("{}: {}", reason.place, reason.fact));
  bare.assumed.push_back(fmt::format("priced only, because orch cannot start it as {}: {}",
                                     script.reading.framework, join(reasons, "; ")));
  script = std::move(bare);
  return again;
}

std::string next_step(const PriceArguments& arguments) {
  if (!arguments.write.empty())
    return fmt::format("written: {}\nnext: orch search {}", printable(arguments.write),
                       shell_quote(arguments.write));
  return "--write FILE.lua writes it as an experiment, for orch search, explain and run";
}

}  // namespace

Ending price_command(App& app, const PriceArguments& arguments, Console& console) {
  auto script = read_script(app, arguments);
  if (!script) return {script.error(), Exit::invalid_experiment};
  auto planned = plan_script(app, *script);
  if (auto* ended = std::get_if<Ending>(&planned)) return std::move(*ended);
  const auto& outcome = std::get<PlannedExperiment>(planned);
  if (auto status = write_experiment(arguments, *script); !status) return status.error();
  auto result = view(outcome);
  const bool has_run = !outcome.runs.empty();
  if (has_run && outcome.runs.front().estimate.fit == plan::MemoryFit::oom)
    result.nearby = look_around(app, result);
  auto answer = tables::plan_answer(result, 0);
  answer.title = what_was_read(*script);
  // How a framework differs from our trainers says nothing about its own speed.
  std::erase_if(answer.sections, [](const show::Section& section) {
    const auto* findings = std::get_if<show::Findings>(&section);
    return findings && !findings->list.empty() && findings->list.front().kind == "unequal";
  });
  answer.sections.insert(answer.sections.begin(), facts(*script));
  FasterLayouts faster;
  if (has_run && arguments.top > 0)
    faster = faster_layouts(app, outcome, script->framework, arguments.top);
  if (has_run) add_faster(app, outcome, script->framework, faster, answer);
  answer.sections.push_back(show::Findings{"", {{"next", next_step(arguments)}}});
  arguments.common.give(answer, console);
  return has_run ? Exit::ok : Exit::invalid_experiment;
}

}  // namespace orch::app
