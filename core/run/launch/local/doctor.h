#pragma once

#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/files.h"
#include "core/base/shell.h"

namespace orch::launch {

// One property of a machine, present or missing.
struct DoctorCheck {
  enum class State {
    ok,
    missing,  // something does not work without it
    note,     // everything works, but worth knowing
  };
  std::string what;
  State state = State::ok;
  std::string found;
  std::string how_to_get;  // the next step; empty if none is needed
};

struct DoctorOptions {
  std::vector<fs::path> plugin_folders;
  fs::path trainers;                  // the folder of orch-train-<backend>
  std::vector<std::string> backends;  // backends whose trainers are checked
  fs::path sources;                   // a clone of orch; empty: none
  fs::path runs;                      // where run folders are written; may not exist yet
};

// Checks what this machine needs for launching and following runs. Changes nothing: the file that
// tests locking in the folder of runs is removed again.
std::vector<DoctorCheck> examine(Shell& shell, const Clock& clock, const DoctorOptions& options);

// --- the checks, in their order ---
std::vector<DoctorCheck> examine_slurm(Shell& shell);
std::vector<DoctorCheck> examine_programs(Shell& shell, const DoctorOptions& options);
std::vector<DoctorCheck> examine_machine(Shell& shell);
std::vector<DoctorCheck> examine_places(const Clock& clock, const fs::path& runs);

}  // namespace orch::launch
