#include <fmt/format.h>

#include <map>
#include <set>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/doctor_nodes.h"
#include "core/base/text.h"
#include "core/run/launch/local/doctor.h"
#include "core/run/launch/process_shell.h"

namespace orch::app {
namespace {

using launch::DoctorCheck;

// "9 shipped, 2 in clusters"; or the first error if one of them cannot be read.
DoctorCheck check_of(const char* what, const std::map<std::string, int>& counts,
                     const Errors& errors) {
  if (!errors.empty())
    return {what, DoctorCheck::State::missing, errors.front().place + ": " + errors.front().fact,
            errors.front().fix};
  std::vector<std::string> parts;
  for (const auto& [source, count] : counts)
    parts.push_back(fmt::format("{} {}{}", count, source == "shipped" ? "" : "in ", source));
  return {what, DoctorCheck::State::ok, join(parts, ", "), ""};
}

DoctorCheck check_clusters(App& app) {
  std::map<std::string, int> counts;
  Errors errors;
  for (const auto& name : app.clusters().names()) {
    const auto cluster = app.clusters().find(name);
    if (errors.add(cluster)) ++counts[app.places().source((*cluster)->file)];
  }
  return check_of("clusters", counts, errors);
}

DoctorCheck check_gpus(App& app) {
  std::map<std::string, int> counts;
  const auto gpus = app.clusters().gpus();
  if (gpus)
    for (const auto& [name, profile] : *gpus) ++counts[app.places().source(profile.file)];
  return check_of("GPUs", counts, gpus ? Errors() : gpus.error());
}

DoctorCheck check_models(App& app) {
  std::map<std::string, int> counts;
  const auto models = app.loader().presets();
  if (models)
    for (const auto& model : *models)
      ++counts[app.places().source(app.loader().preset_file(model.name))];
  return check_of("models", counts, models ? Errors() : models.error());
}

// Environments that templates/frameworks/setup made: each has a list of what is in it, the
// frameworks in its second line.
DoctorCheck check_environments(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& environment : entries_of(folder)) {
    const auto notes = read_file(environment / "orch-packages.txt");
    if (!notes) continue;
    const auto lines = split(*notes, '\n');
    if (lines.size() < 3) continue;
    found.push_back(printable(fmt::format("{} ({}, {})", environment.filename().string(),
                                          trim(lines[1].substr(1)), lines[2])));
  }
  if (found.empty())
    return {
        "frameworks", DoctorCheck::State::note, "no environment in " + printable(folder.string()),
        "templates/frameworks/setup FRAMEWORK makes one; or install a framework by other means"};
  return {"frameworks", DoctorCheck::State::ok, join(found, "; "), ""};
}

std::string word(DoctorCheck::State state) {
  return state == DoctorCheck::State::ok        ? "ok"
         : state == DoctorCheck::State::missing ? "missing"
                                                : "note";
}

show::Answer answer_of(std::vector<DoctorCheck> checks) {
  show::Columns<DoctorCheck> columns(std::move(checks));
  columns.add("state", "state", 0, [](const DoctorCheck& check) { return word(check.state); });
  columns.add("what", "what", 0, [](const DoctorCheck& check) { return check.what; });
  columns.add("found", "found", 0, [](const DoctorCheck& check) {
    return show::Cell(check.found, split(check.found, '\n').front());
  });
  columns.add("how_to_get", [](const DoctorCheck& check) { return check.how_to_get; });
  auto table = columns.table("checks");
  const auto rows = columns.rows();
  table.mark = [rows](std::size_t row) {
    const auto state = rows[row]->state;
    return state == DoctorCheck::State::ok        ? show::Mark::none
           : state == DoctorCheck::State::missing ? show::Mark::bad
                                                  : show::Mark::warning;
  };
  show::Findings missing{"How to get what is missing"};
  for (const auto* check : rows)
    if (!check->how_to_get.empty())
      missing.list.push_back({"missing", "  " + check->what + ": " + check->how_to_get});
  return {"", "", {std::move(table), std::move(missing)}};
}

}  // namespace

Ending doctor_command(const DoctorArguments& arguments, Console& console) {
  if (arguments.nodes > 0) {
    const auto app = App::create();
    return app ? nodes_command(**app, arguments, console) : Ending(app.error());
  }
  launch::DoctorOptions options;
  options.runs = arguments.runs;
  std::vector<DoctorCheck> checks;
  if (auto app = App::create(); app) {
    options.plugin_folders = (*app)->places().plugins;
    options.trainers = (*app)->places().trainers;
    options.sources = (*app)->places().home;
    std::set<std::string> names;
    for (const auto& strategy : (*app)->backends().strategies()) names.insert(strategy->backend);
    options.backends.assign(names.begin(), names.end());
    (*app)->look_in(".");
    checks = {check_clusters(**app), check_gpus(**app), check_models(**app),
              check_environments((*app)->places().home / "build/frameworks")};
  } else {
    for (const auto& error : app.error())
      checks.push_back(
          {"orch", DoctorCheck::State::missing, error.place + ": " + error.fact, error.fix});
  }
  launch::ProcessShell shell;
  SystemClock clock;
  for (auto& check : launch::examine(shell, clock, options)) checks.push_back(std::move(check));
  arguments.common.give(answer_of(std::move(checks)), console);
  return Exit::ok;
}

}  // namespace orch::app
