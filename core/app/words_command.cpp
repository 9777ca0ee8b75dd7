#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/base/text.h"
#include "core/run/store/run_folder.h"

namespace orch::app {
namespace {

std::vector<std::string> words_of_app(App& app, const std::string& kind) {
  if (kind == "clusters") return app.clusters().names();
  std::vector<std::string> out;
  if (kind == "strategies")
    for (const auto& backend : app.backends().all())
      for (const auto& strategy : backend.strategies()) out.push_back(strategy->name);
  if (kind == "strategies") out.insert(out.end(), {"training", "frameworks", "stacks"});
  if (kind != "models") return out;
  const auto presets = app.loader().presets();
  return presets ? all_names(*presets) : out;
}

std::vector<std::string> words_of_runs(const fs::path& root, bool experiments) {
  std::vector<std::string> out;
  for (const auto& experiment : store::experiments(root)) {
    if (experiments) out.push_back(experiment);
    for (const auto& id : store::run_ids(root / experiment)) out.push_back(id);
  }
  return out;
}

}  // namespace

std::vector<std::string> names_of(const std::string& kind, const fs::path& runs) {
  if (kind == "runs" || kind == "targets") return words_of_runs(runs, kind == "targets");
  const auto app = App::create();
  return app ? words_of_app(**app, kind) : std::vector<std::string>();
}

}  // namespace orch::app
