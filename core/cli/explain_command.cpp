#include "core/cli/app.h"
#include "core/cli/commands.h"
#include "core/cli/exit.h"
#include "core/store/store.h"

namespace orch::cli {
namespace {

bool is_experiment(const std::string& text) { return text.ends_with(".lua"); }

// The best run of an experiment file, or a run folder by its path, id, hash or beginning.
Result<plan::Run> choose(App& app, const ExplainArguments& arguments) {
  if (is_experiment(arguments.run)) {
    auto outcome = app.plan(arguments.run);
    if (!outcome) return outcome.error();
    if (auto status = app.keep_where(arguments.where, *outcome); !status) return status.error();
    if (outcome->runs.empty())
      return Error{arguments.run, "every run is rejected", "orch plan shows the reasons"};
    return std::move(outcome->runs.front().run);
  }
  if (fs::exists(fs::path(arguments.run) / "run.json")) return app.read_run(arguments.run);
  const auto folder = store::Store(arguments.runs).find(arguments.run);
  if (!folder) return folder.error();
  return app.read_run(*folder);
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  auto app = App::create();
  if (!app) return fail(app.error(), kError);
  auto run = choose(**app, arguments);
  if (!run) return fail(run.error(), is_experiment(arguments.run) ? kInvalidExperiment : kError);
  const auto planned = (*app)->explain(std::move(*run));
  if (!planned) return fail(planned.error(), kError);
  print(arguments.common.format == "json" ? report::explain_json(*planned)
                                          : report::explain(*planned, arguments.common.screen));
  return kOk;
}

}  // namespace orch::cli
