#include <variant>

#include "core/base/text.h"
#include "core/cli/app.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/store/store.h"

namespace orch::cli {
namespace {

bool is_experiment(const std::string& text) { return text.ends_with(".lua"); }

struct Chosen {
  plan::Run run;
  plan::Calendar calendar;
};

// The best run of an experiment file, or the exit code once its errors are told.
std::variant<Chosen, int> best_of(App& app, const ExplainArguments& arguments) {
  auto outcome = app.plan(arguments.run, {.start = parse_date(arguments.start)});
  if (!outcome) return fail(outcome.error(), interrupted() ? kInterrupted : kInvalidExperiment);
  if (auto status = app.keep_where(arguments.where, *outcome); !status)
    return fail(status.error(), kUsage);
  if (outcome->runs.empty())
    return fail(
        Error{printable(arguments.run), "every run is rejected", "orch plan shows the reasons"},
        kInvalidExperiment);
  return Chosen{std::move(outcome->runs.front().run), outcome->experiment.calendar};
}

// A run folder by its path, id, hash or beginning.
std::variant<Chosen, int> stored(App& app, const ExplainArguments& arguments) {
  fs::path folder = arguments.run;
  std::error_code code;
  if (!fs::exists(folder / "run.json", code)) {
    const auto found = store::Store(arguments.runs).find(arguments.run);
    if (!found) return fail(found.error(), kError);
    folder = *found;
  }
  auto run = app.read_run(folder);
  if (!run) return fail(run.error(), kError);
  return Chosen{std::move(*run), {parse_date(arguments.start), 1}};
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  auto chosen = is_experiment(arguments.run) ? best_of(**app, arguments) : stored(**app, arguments);
  if (const int* code = std::get_if<int>(&chosen)) return *code;
  auto& [run, calendar] = std::get<Chosen>(chosen);
  const auto planned = (*app)->explain(std::move(run));
  if (!planned) return fail(planned.error(), kError);
  print(arguments.common.format == "json"
            ? report::explain_json(*planned, calendar)
            : report::explain(*planned, calendar, arguments.common.screen));
  return kOk;
}

}  // namespace orch::cli
