#pragma once

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/shell.h"

namespace orch::launch {

// One thing that a machine has or lacks.
struct Check {
  enum class State {
    ok,
    missing,  // something does not work without it
    note,     // works, but worth knowing
  };
  std::string what;
  State state = State::ok;
  std::string found;
  std::string how_to_get;  // the next step; empty where there is none to take
};

struct DoctorOptions {
  std::vector<fs::path> plugin_folders;
  fs::path trainers;                  // the folder of orch-train-<backend>
  std::vector<std::string> backends;  // whose trainers to look for
  fs::path sources;                   // a clone of orch; empty: not available here
  fs::path runs;                      // where run folders go; may not exist yet
};

// What this machine has for launching and following runs. Changes nothing: a file that it makes
// where runs go, to see whether that can lock, is removed again.
std::vector<Check> examine(Shell& shell, const Clock& clock, const DoctorOptions& options);

// --- the parts, in their order ---
std::vector<Check> examine_slurm(Shell& shell);
std::vector<Check> examine_programs(Shell& shell, const DoctorOptions& options);
std::vector<Check> examine_machine(Shell& shell);
std::vector<Check> examine_places(const Clock& clock, const fs::path& runs);

}  // namespace orch::launch
