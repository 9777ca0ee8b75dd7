#include <fmt/format.h>

#include <map>
#include <set>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/run/launch/local/doctor.h"
#include "core/run/launch/process_shell.h"

namespace orch::app {
namespace {

using launch::Check;

// "9 shipped, 2 in clusters"; or the first error if one of them cannot be read.
Check check_of(const char* what, const std::map<std::string, int>& counts, const Errors& errors) {
  if (!errors.empty())
    return {what, Check::State::missing, errors.front().place + ": " + errors.front().fact,
            errors.front().fix};
  std::vector<std::string> parts;
  for (const auto& [source, count] : counts)
    parts.push_back(fmt::format("{} {}{}", count, source == "shipped" ? "" : "in ", source));
  return {what, Check::State::ok, join(parts, ", "), ""};
}

Check check_clusters(App& app) {
  std::map<std::string, int> counts;
  Errors errors;
  for (const auto& name : app.clusters().names()) {
    const auto cluster = app.clusters().find(name);
    if (errors.add(cluster)) ++counts[app.places().source((*cluster)->file)];
  }
  return check_of("clusters", counts, errors);
}

Check check_gpus(App& app) {
  std::map<std::string, int> counts;
  const auto gpus = app.clusters().gpus();
  if (gpus)
    for (const auto& [name, profile] : *gpus) ++counts[app.places().source(profile.file)];
  return check_of("GPUs", counts, gpus ? Errors() : gpus.error());
}

Check check_models(App& app) {
  std::map<std::string, int> counts;
  const auto models = app.loader().presets();
  if (models)
    for (const auto& model : *models)
      ++counts[app.places().source(app.loader().preset_file(model.name))];
  return check_of("models", counts, models ? Errors() : models.error());
}

std::string word(Check::State state) {
  return state == Check::State::ok ? "ok" : state == Check::State::missing ? "missing" : "note";
}

show::Answer answer_of(std::vector<Check> checks) {
  show::Columns<Check> columns(std::move(checks));
  columns.add("state", "state", 0, [](const Check& check) { return word(check.state); });
  columns.add("what", "what", 0, [](const Check& check) { return check.what; });
  columns.add("found", "found", 0, [](const Check& check) {
    return show::Cell(check.found, split(check.found, '\n').front());
  });
  columns.add("how_to_get", [](const Check& check) { return check.how_to_get; });
  auto table = columns.table("checks");
  const auto rows = columns.rows();
  table.mark = [rows](std::size_t row) {
    const auto state = rows[row]->state;
    return state == Check::State::ok        ? show::Mark::none
           : state == Check::State::missing ? show::Mark::bad
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
  launch::DoctorOptions options;
  options.runs = arguments.runs;
  std::vector<Check> checks;
  if (auto app = App::create(); app) {
    options.plugin_folders = (*app)->places().plugins;
    options.trainers = (*app)->places().trainers;
    options.sources = (*app)->places().home;
    std::set<std::string> names;
    for (const auto& strategy : (*app)->backends().strategies()) names.insert(strategy->backend);
    options.backends.assign(names.begin(), names.end());
    (*app)->look_in(".");
    checks = {check_clusters(**app), check_gpus(**app), check_models(**app)};
  } else {
    for (const auto& error : app.error())
      checks.push_back({"orch", Check::State::missing, error.place + ": " + error.fact, error.fix});
  }
  launch::ProcessShell shell;
  SystemClock clock;
  for (auto& check : launch::examine(shell, clock, options)) checks.push_back(std::move(check));
  arguments.common.give(answer_of(std::move(checks)), console);
  return Exit::ok;
}

}  // namespace orch::app
