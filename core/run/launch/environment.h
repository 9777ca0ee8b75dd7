#pragma once

#include <string_view>

namespace orch::launch {

// Whether a program that we start may see this variable of ours. What the SLURM job or the launcher
// that we run in says of itself would be taken for the new job's: an inherited CPU binding puts all
// its ranks on a few cores, an SBATCH_ variable overrules its script.
bool is_handed_on(std::string_view variable);

}  // namespace orch::launch
