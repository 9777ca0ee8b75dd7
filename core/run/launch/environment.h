#pragma once

#include <string_view>

namespace orch::launch {

// True if a program that we start may see this variable of ours. Variables that a surrounding SLURM
// job or launcher set would be applied to the new job: an inherited CPU binding puts all its ranks
// on a few cores, an SBATCH_ variable overrides its script.
bool is_handed_on(std::string_view variable);

}  // namespace orch::launch
