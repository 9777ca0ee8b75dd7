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

// Reads experiment files: Lua in, plan::Experiment out. The functions of an experiment live in the
// loader's Lua state, so the loader must outlive what it loaded.
class Loader {
 public:
  class State;  // the Lua side; for the sources of this folder only

  // strategies: what the backends offer; models_file: the presets, a Lua file that returns a table.
  Loader(std::vector<plan::StrategyPtr> strategies, fs::path models_file);
  ~Loader();

  Result<plan::Experiment> load(const fs::path& file);
  Result<plan::Experiment> parse(const std::string& text, const std::string& file);

  // The presets, in the order of their names.
  Result<std::vector<plan::Model>> presets();

  // An expression over the fields of a run, such as "tensor_parallel == 8 and fit ~= 'oom'".
  using Filter = std::function<Result<bool>(const plan::Lookup&)>;
  Result<Filter> filter(const std::string& expression);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace orch::experiment
