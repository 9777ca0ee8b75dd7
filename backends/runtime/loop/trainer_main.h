#pragma once

#include "backends/runtime/loop/loop.h"

namespace orch::train {

// main() of a trainer: `orch-train-x --run RUN.json --attempt FOLDER`, with the environment
// described in templates/slurm/README.md. Creates FOLDER/finished when all steps are done. The exit
// code: 0, also when it was told to stop and saved; 1 for a failure, reported in events.jsonl and
// on stderr; 2 for wrong arguments.
int trainer_main(int argc, char** argv, const MakeEngine& make);
template <class Engine>
int trainer_main(int argc, char** argv) {
  return trainer_main(argc, argv, [](const plan::Run& config, World& world, Profile& profile) {
    return std::make_unique<Engine>(config, world, profile);
  });
}

}  // namespace orch::train
