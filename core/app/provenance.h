#pragma once

#include <string>

#include "core/base/shell.h"
#include "core/plan/experiment.h"
#include "core/run/store/run_folder.h"

namespace orch::app {

// The commit of the repository that holds an experiment's file, and whether it, or one that it
// includes, differs from it; empty where there is no repository, or no git.
struct Commit {
  std::string id;
  bool changed = false;
};
Commit commit_of(Shell& shell, const plan::Experiment& experiment);

}  // namespace orch::app
