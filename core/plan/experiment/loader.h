#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"
#include "core/plan/experiment.h"
#include "core/plan/model.h"
#include "core/plan/strategy.h"

namespace orch::experiment {

// An experiment as a user names it: its file, or "-" for stdin, and the changes to apply to its
// table before it is read ("hardware.nodes=40", state.h).
struct ExperimentSource {
  ExperimentSource(fs::path path, std::vector<std::string> changes = {})
      : file(std::move(path)), set(std::move(changes)) {}
  ExperimentSource(const std::string& path, std::vector<std::string> changes = {})
      : ExperimentSource(fs::path(path), std::move(changes)) {}
  ExperimentSource(const char* path) : ExperimentSource(fs::path(path)) {}

  // The name for messages.
  std::string name() const { return is_stdin() ? "<stdin>" : file.string(); }
  bool is_stdin() const { return file == "-"; }

  fs::path file;
  std::vector<std::string> set;
  std::string text = {};  // its content where it is not in the file; empty: it is
};

// Reads experiment files: Lua in, plan::Experiment out. The functions of an experiment live in the
// loader's Lua state, so the loader must outlive what it loaded.
class Loader {
 public:
  class State;  // the Lua side; for the sources of this folder only

  // strategies: what the backends offer; models_files: the presets, Lua files that each return a
  // table. If two models have the same name, the earlier file wins; a file may use presets of later
  // ones. quantities: the names allowed in `expect`.
  Loader(std::vector<plan::StrategyPtr> strategies, std::vector<fs::path> models_files,
         std::vector<std::string> quantities = {});
  ~Loader();

  // Replaces the files of presets.
  void look_for_models(std::vector<fs::path> models_files);

  Result<plan::Experiment> load(const ExperimentSource& source);
  Result<plan::Experiment> parse(const std::string& text, const std::string& file,
                                 const std::vector<std::string>& set = {});

  // The presets, sorted by name.
  Result<std::vector<plan::Model>> presets();
  // The file that defines a preset; empty if there is none.
  fs::path preset_file(const std::string& name) const;

  // An expression over the fields of a run, such as "tensor_parallel == 8 and fit ~= 'oom'".
  using Filter = std::function<Result<bool>(const plan::Lookup&)>;
  Result<Filter> filter(const std::string& expression);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace orch::experiment
