#pragma once

#include <string>

#include "core/base/shell.h"
#include "core/store/run_folder.h"

namespace orch::cli {

// The commit of the repository that holds a file, and whether the file differs from it; empty where
// there is no repository, or no git.
struct Commit {
  std::string id;
  bool changed = false;
};
Commit commit_of(Shell& shell, const fs::path& file);

}  // namespace orch::cli
