#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/run/launch/local/doctor.h"
#include "core/run/launch/process_shell.h"
#include "core/show/tables/json.h"

namespace orch::app {
namespace {

using launch::Check;
using Json = nlohmann::ordered_json;

// "9 shipped, 2 in clusters"; the first error where one of them cannot be read.
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

std::string line_of(const Check& check, const show::Screen& screen) {
  const char* color = check.state == Check::State::ok        ? "32"
                      : check.state == Check::State::missing ? "31"
                                                             : "33";
  auto label = word(check.state);
  label.resize(8, ' ');
  auto text = check.what + ": " + printable(check.found) + "\n";
  if (!check.how_to_get.empty()) text += "          " + check.how_to_get + "\n";
  return show::paint(label, color, screen) + show::wrap("  " + text, screen).substr(2);
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
  if (arguments.common.format == "json") {
    Json list = Json::array();
    for (const auto& check : checks)
      list.push_back({{"what", check.what},
                      {"state", word(check.state)},
                      {"found", check.found},
                      {"how_to_get", check.how_to_get}});
    console.print(tables::dump(Json{{"version", 1}, {"checks", list}}));
  } else {
    for (const auto& check : checks) console.print(line_of(check, arguments.common.screen));
  }
  return Exit::ok;
}

}  // namespace orch::app
