#include <fmt/format.h>

#include "core/app/chosen.h"
#include "core/app/commands.h"
#include "core/app/run_logs.h"
#include "core/base/json_fields.h"
#include "core/base/text.h"
#include "core/record/events/collect.h"
#include "core/run/store/run_folder.h"
#include "core/show/tables/compared.h"

namespace orch::app {
namespace {

// The progress of the last attempt that made some; nothing if the run never ran.
std::optional<record::Measurement> measured_in(const fs::path& folder) {
  const auto attempts = store::read_attempts(folder);
  if (!attempts) return std::nullopt;
  const auto folders = mapped(*attempts, [&](const auto& attempt) {
    return folder / "attempts" / std::to_string(attempt.number);
  });
  for (auto attempt = attempts->rbegin(); attempt != attempts->rend(); ++attempt) {
    const auto place = folder / "attempts" / std::to_string(attempt->number);
    auto progress = events::read_progress(place, 0);
    if (!progress) progress = RunLogs().progress(place, 0);
    if (!progress) continue;
    progress->measured.time_items.clear();  // a log's timers have other names
    events::read_profile(place, progress->measured);
    progress->measured.spent = events::spent_time(folders, *attempts);
    if (const auto energy = events::spent_kwh(folders, *attempts))
      progress->measured.stated["energy_kwh"] = *energy;
    return progress->measured;
  }
  return std::nullopt;
}

// The version that the last attempt's program reported; empty if it reported none.
std::string version_said(const fs::path& folder) {
  const auto attempts = store::read_attempts(folder);
  if (!attempts || attempts->empty()) return {};
  const auto place =
      folder / "attempts" / std::to_string(attempts->back().number) / "framework.json";
  const auto json = read_json(place, {.fix = "nothing depends on it: remove it"});
  return json && *json ? JsonFields(**json).text_or("says", "") : "";
}

}  // namespace

Ending explain_command(App& app, const ExplainArguments& arguments, Console& console) {
  auto chosen = choose_run(app, arguments.run, arguments.where, arguments.start, arguments.runs);
  if (const auto* ended = std::get_if<Ending>(&chosen)) return *ended;
  auto& [run, calendar] = std::get<ChosenRun>(chosen);
  std::error_code ignored;
  const auto planned = app.explain(std::move(run));
  if (!planned) return planned.error();
  auto folder = fs::path(arguments.runs) / planned->run.experiment / planned->run.id;
  if (const auto& named = arguments.run.file; fs::exists(named / "run.json", ignored))
    folder = named;
  const auto found = measured_in(folder);
  auto answer = tables::explain(*planned, calendar, found ? &*found : nullptr);
  if (const auto said = version_said(folder); !said.empty())
    answer.sections.push_back(show::Findings{
        "",
        {{"version",
          fmt::format("{} says that it is {}", planned->run.framework, printable(said))}}});
  arguments.common.give(answer, console);
  return Exit::ok;
}

}  // namespace orch::app
