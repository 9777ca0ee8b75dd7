#include "core/cli/chosen.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/collect/collect.h"
#include "core/report/compared.h"
#include "core/store/run_folder.h"

namespace orch::cli {
namespace {

// Of the last attempt that got so far; nothing of a run that nobody has run.
std::optional<report::Measured> measured_in(const fs::path& folder) {
  const auto attempts = store::read_attempts(folder);
  if (!attempts) return std::nullopt;
  for (auto attempt = attempts->rbegin(); attempt != attempts->rend(); ++attempt) {
    const auto place = folder / "attempts" / std::to_string(attempt->number);
    const auto progress = collect::read_progress(place, 0);
    if (!progress) continue;
    return report::Measured{*progress, collect::read_profile(place).value_or(record::Profile())};
  }
  return std::nullopt;
}

std::string text_of(const plan::Planned& planned, const plan::Calendar& calendar,
                    const report::Measured* measured, const Common& common) {
  if (common.format == "json") return report::explain_json(planned, calendar, measured);
  if (common.format == "md") return report::explain_markdown(planned, calendar, measured);
  return report::explain(planned, calendar, common.screen, measured);
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  auto chosen =
      choose_run(**app, arguments.run, arguments.where, arguments.start, arguments.runs);
  if (const int* code = std::get_if<int>(&chosen)) return *code;
  auto& [run, calendar] = std::get<Chosen>(chosen);
  std::error_code ignored;
  const auto planned = (*app)->explain(std::move(run));
  if (!planned) return fail(planned.error(), kError);
  auto folder = fs::path(arguments.runs) / planned->run.experiment / planned->run.id;
  if (const fs::path named = arguments.run; fs::exists(named / "run.json", ignored)) folder = named;
  const auto measured = measured_in(folder);
  print(text_of(*planned, calendar, measured ? &*measured : nullptr, arguments.common));
  return kOk;
}

}  // namespace orch::cli
