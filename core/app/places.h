#pragma once

#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::app {

// The places of orch's files, relative to the program's own place, so that a clone or an
// installation can be moved; ORCH_HOME and ORCH_PLUGINS override them.
struct OrchFolders {
  fs::path home;                  // holds experiments/ and templates/
  std::vector<fs::path> plugins;  // folders, the first has priority
  fs::path trainers;              // the folder for orch-train-<backend>

  fs::path own;     // the user's own folder, ~/.local/share/orch; empty without a home folder
  fs::path beside;  // the folder of the experiment, if there is one

  // Clusters that were measured for this user on this machine; empty without a home folder.
  fs::path own_clusters;

  // Where clusters, GPUs, stacks and models are searched, in this order: beside the experiment, in
  // the user's own folder, among the shipped ones.
  std::vector<fs::path> cluster_folders() const;
  std::vector<fs::path> gpus() const { return found("gpus.yaml", home / "experiments/gpus.yaml"); }
  std::vector<fs::path> stacks() const {
    return found("stacks.yaml", home / "experiments/stacks.yaml");
  }
  std::vector<fs::path> models() const {
    return found("models.lua", home / "experiments/models.lua");
  }
  fs::path clusters() const { return home / "experiments/clusters"; }  // the shipped ones
  fs::path measured() const { return home / "experiments/measured"; }
  // "shipped", or the folder of a user's file.
  std::string source(const fs::path& file) const;
  fs::path logs() const { return home / "templates/logs"; }  // files of patterns, one per framework
  fs::path templates() const { return home / "templates/slurm"; }
  // Templates of frameworks, in the order of priority: frameworks/ beside the experiment, in the
  // user's own folder, the shipped ones.
  std::vector<fs::path> frameworks() const {
    return found("frameworks", home / "templates/frameworks");
  }

 private:
  std::vector<fs::path> found(const char* name, const fs::path& shipped) const;
};

// The file with which this program can be started again.
fs::path own_program();

Result<OrchFolders> find_places();

}  // namespace orch::app
