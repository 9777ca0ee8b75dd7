#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include "core/app/around.h"
#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/app/measure.h"
#include "core/app/provenance.h"
#include "core/app/session.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/plan/estimate_json.h"
#include "core/plan/run_json.h"
#include "core/run/render/job.h"
#include "core/run/store/store.h"
#include "core/show/tables/plan.h"

namespace orch::app {
namespace {

Exit verdict_on(const tables::RankedRuns& result) {
  if (result.runs.empty()) return Exit::invalid_experiment;
  return tables::budget_verdict(result).over ? Exit::over_budget : Exit::ok;
}

bool has_relative_paths(const plan::Training& training) {
  const auto is_relative = [](const std::string& path) {
    return !path.empty() && !fs::path(path).is_absolute();
  };
  return is_relative(training.data) || is_relative(training.init);
}

struct Renderers {
  render::Renderer jobs;
  std::optional<render::Template> start;  // for frameworks, loaded on first use
};

// Adds the files that start a framework.
Status add_framework(App& app, Renderers& renderers, const plan::Run& run,
                     const render::Context& context, store::NewRunFolder& folder) {
  const auto launch = app.frameworks().launch(run);
  if (!launch) return launch.error();
  if (!renderers.start) {
    auto start = render::Template::load(app.places().frameworks().back() / "start.bash");
    if (!start) return start.error();
    renderers.start = std::move(*start);
  }
  auto files = render::launch_files(*renderers.start, *launch, run, context);
  if (!files) return files.error();
  std::move(files->begin(), files->end(), std::back_inserter(folder.files));
  return {};
}

// run.json, estimate.json, provenance.json and, if SLURM will run it, the job scripts.
Result<store::NewRunFolder> folder_of(App& app, Renderers& renderers, const store::RunStore& store,
                                      const plan::Planned& planned, launch::SlurmAnswer slurm,
                                      const fs::path& experiment_file,
                                      store::Provenance provenance) {
  store::NewRunFolder folder;
  folder.id = planned.run.id;
  auto run = planned.run;
  const auto place = store.folder(run.experiment, run.id);
  // Only the file's name: its path is meaningless where the folder may be copied.
  provenance.cluster_file = fs::path(run.cluster->file).filename();
  if (has_relative_paths(run.training))
    run.paths_from = fs::relative(fs::absolute(experiment_file).parent_path(), place).string();
  folder.files = {{"run.json", plan::run_json(run)},
                  {"estimate.json", plan::estimate_json(run, planned.estimate)},
                  {"provenance.json", store::provenance_json(provenance)}};
  render::Context context;
  context.trainers = fs::relative(app.places().trainers, place).string();
  context.version = ORCH_VERSION;
  context.step_seconds = planned.estimate.step_seconds;
  if (!run.framework.empty())
    if (auto status = add_framework(app, renderers, run, context, folder); !status)
      return status.error();
  if (way_to_launch(planned.run, slurm) != "slurm") return folder;
  auto scripts = renderers.jobs.render(run, context);
  if (!scripts) return scripts.error();
  std::move(scripts->begin(), scripts->end(), std::back_inserter(folder.files));
  return folder;
}

std::string written_text(const store::WriteCounts& written, const fs::path& place) {
  if (written.created == 0 && written.refreshed == 0)
    return fmt::format("nothing changed: all {} run folders are in {}/\n", written.unchanged,
                       printable(place.string()));
  std::string out = fmt::format("{} run folder{} written to {}/", written.created,
                                written.created == 1 ? "" : "s", printable(place.string()));
  if (written.unchanged > 0) out += fmt::format(", {} were there", written.unchanged);
  if (written.refreshed > 0) out += fmt::format(", {} refreshed", written.refreshed);
  if (written.others > 0)
    out += fmt::format("; {} from earlier plans are still there", written.others);
  return out + "\n";
}

// Searches near the runs unless the user restricted them.
tables::RankedRuns seen_around(App& app, const PlannedExperiment& planned,
                               const PlanArguments& arguments) {
  auto result = view(planned);
  if (arguments.where.empty() && arguments.common.format != "csv")
    result.nearby = look_around(app, result);
  return result;
}

Ending show_only(const tables::RankedRuns& result, const PlanArguments& arguments,
                 Console& console) {
  arguments.common.give(tables::plan_answer(result, arguments.top), console);
  return verdict_on(result);
}

}  // namespace

std::variant<store::WriteCounts, Ending> write_folders(App& app, AppSession& session,
                                                       const PlannedExperiment& planned,
                                                       const RunArguments& arguments,
                                                       Console& console) {
  const auto& asked = arguments.plan;
  store::RunStore store(asked.options.runs);
  Renderers renderers{render::Renderer(app.places().templates()), std::nullopt};
  constexpr std::size_t kMany = 2000;  // folders written at once
  const auto provenance = provenance_of(session.shell(), planned.experiment);
  const auto written = store.write(
      planned.experiment.name, planned.runs.size(),
      [&](std::size_t i) {
        if (planned.runs.size() > kMany && i % 500 == 0)
          console.progress(fmt::format("writing run folders: {} of {}", i, planned.runs.size()));
        return folder_of(app, renderers, store, planned.runs[i], session.slurm(), asked.source.file,
                         provenance);
      },
      interrupted);
  console.progress("");
  if (!written) return Ending(written.error());
  if (!written->interrupted) return *written;
  console.note("interrupted: the folders written so far are whole; run it again for the rest\n");
  return Ending(Exit::interrupted);
}

namespace {

Ending write_and_show(App& app, const PlannedExperiment& planned, const RunArguments& arguments,
                      Console& console) {
  const auto& asked = arguments.plan;
  const auto result = seen_around(app, planned, asked);
  if (planned.runs.empty()) return show_only(result, asked, console);
  AppSession session(console);
  const auto folders = write_folders(app, session, planned, arguments, console);
  if (const auto* ended = std::get_if<Ending>(&folders)) return *ended;
  const auto& written = std::get<store::WriteCounts>(folders);
  const bool json = asked.common.format == "json";
  auto answer = tables::plan_answer(result, asked.top);
  if (!json) asked.common.give(answer, console);
  const auto place = fs::path(asked.options.runs) / planned.experiment.name;
  asked.common.tell("\n" + written_text(written, place), console);
  std::optional<tables::Standings> end;
  auto launched = launch_runs(app, session, planned, arguments, end, console);
  if (json) {
    std::vector<tables::Standings> all;  // must outlive its table
    if (end) all.push_back(*end);
    if (end) answer.sections.push_back(tables::status_runs("status", all));
    asked.common.give(answer, console);
  }
  const auto verdict = verdict_on(result);
  const bool accepted = verdict == Exit::over_budget && arguments.options.over_budget;
  return verdict != Exit::ok && !accepted ? Ending(launched.errors, verdict) : launched;
}

}  // namespace

Ending plan_command(App& app, const PlanArguments& arguments, Console& console) {
  const auto planned = plan_where(app, arguments.source, arguments.options, arguments.where);
  if (const auto* ended = std::get_if<Ending>(&planned)) return *ended;
  return show_only(seen_around(app, std::get<PlannedExperiment>(planned), arguments), arguments,
                   console);
}

Ending run_command(App& app, const RunArguments& arguments, Console& console) {
  const auto& asked = arguments.plan;
  if (arguments.dry_run) return plan_command(app, asked, console);
  if (!arguments.no_calibrate) measure_before_run(app, asked.source, console);
  const auto planned = plan_where(app, asked.source, asked.options, asked.where);
  if (const auto* ended = std::get_if<Ending>(&planned)) return *ended;
  return write_and_show(app, std::get<PlannedExperiment>(planned), arguments, console);
}

}  // namespace orch::app
