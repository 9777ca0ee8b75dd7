#include <nlohmann/json.hpp>
#include <set>

#include "core/base/text.h"
#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/app/sources.h"
#include "core/run/launch/local/doctor.h"
#include "core/run/launch/process_shell.h"
#include "core/show/tables/json.h"

namespace orch::app {
namespace {

using launch::Check;
using Json = nlohmann::ordered_json;

std::string word(Check::State state) {
  return state == Check::State::ok ? "ok" : state == Check::State::missing ? "missing" : "note";
}

std::string line_of(const Check& check, const tables::Screen& screen) {
  const char* color = check.state == Check::State::ok        ? "32"
                      : check.state == Check::State::missing ? "31"
                                                             : "33";
  auto label = word(check.state);
  label.resize(8, ' ');
  auto text = check.what + ": " + printable(check.found) + "\n";
  if (!check.how_to_get.empty()) text += "          " + check.how_to_get + "\n";
  return tables::paint(label, color, screen) + tables::wrap("  " + text, screen).substr(2);
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
    checks = check_sources(**app);
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
