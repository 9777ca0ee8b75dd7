// The names that completions offer, one on a line. Who presses a key does not want to read errors:
// what cannot be read has no names.
#include "core/app/app.h"
#include "core/app/commands.h"
#include "core/run/store/run_folder.h"

namespace orch::app {
namespace {

std::vector<std::string> words_of_app(App& app, const std::string& kind) {
  if (kind == "clusters") return app.clusters().names();
  std::vector<std::string> out;
  if (kind == "strategies")
    for (const auto& backend : app.backends().all())
      for (const auto& strategy : backend.strategies()) out.push_back(strategy->name);
  if (kind == "strategies") out.emplace_back("training");
  if (kind != "models") return out;
  if (const auto presets = app.loader().presets())
    for (const auto& model : *presets) out.push_back(model.name);
  return out;
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

Ending words_command(const WordsArguments& arguments, Console& console) {
  std::vector<std::string> words;
  if (arguments.kind == "runs" || arguments.kind == "targets") {
    words = words_of_runs(arguments.runs, arguments.kind == "targets");
  } else if (const auto app = App::create()) {
    words = words_of_app(**app, arguments.kind);
  }
  std::string text;
  for (const auto& word : words)
    if (word.find('\n') == std::string::npos) text += word + "\n";
  console.print(text);
  return Exit::ok;
}

}  // namespace orch::app
