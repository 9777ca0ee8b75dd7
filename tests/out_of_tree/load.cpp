// Loads the out-of-tree backends beside the built-in ones and asks the C++ one about a run. usage:
// load <plug-in folder>...

#include <cstdio>

#include "core/plan/family.h"
#include "core/price/backend/backend.h"

int main(int argc, char** argv) {
  using namespace orch;
  const auto backends = backend::Backends::load({argv + 1, argv + argc});
  if (!backends) return std::fprintf(stderr, "%s\n", text(backends.error()).c_str()), 1;
  plan::Run run;
  for (const auto& strategy : backends->strategies())
    if (strategy->name == "local_sgd") run.strategy = strategy;
  if (!run.strategy) return std::fprintf(stderr, "no strategy local_sgd\n"), 1;
  for (const auto& param : run.strategy->params) run.settings.push_back(param.default_value);
  run.model = plan::sized("gpt", "tiny", 4, 256, 4, 1024, 128);
  run.gpus = run.layout.data_parallel = 4;
  run.nodes = 1;
  const auto& owner = backends->of(*run.strategy);
  std::vector<Error> reasons, warnings;
  owner.check(run, reasons, warnings);
  backend::Work work;
  const auto status = owner.work(run, orch::backend::WorkTexts::formulas, work);
  if (!status || !reasons.empty())
    return std::fprintf(
               stderr, "%s\n",
               text(status ? Errors(reasons.begin(), reasons.end()) : status.error()).c_str()),
           1;
  const double weights = 2 * 4 * (12.0 * 256 * 256 + 13 * 256);
  const bool right = backends->all().size() == 5 && owner.version() == "2.1" &&
                     work.blocks.size() == 2 && work.counts == std::vector<double>{4, 1} &&
                     work.memory.size() == 1 && work.memory[0].bytes == weights;
  std::printf("%zu backends, local_sgd %s: %s\n", backends->all().size(), owner.version().c_str(),
              right ? "as described" : "WRONG");
  return right ? 0 : 1;
}
