#pragma once

#include <vector>

#include "core/base/files.h"
#include "core/base/result.h"

namespace orch::app {

// Where orch finds what it needs. Everything is found from the program's own place, so a clone or
// an installation can be moved; ORCH_HOME and ORCH_PLUGINS name other places.
struct Places {
  fs::path home;                  // holds experiments/ and templates/
  std::vector<fs::path> plugins;  // folders, the first counts most
  fs::path trainers;              // where orch-train-<backend> would be

  fs::path own;     // the user's own folder, ~/.local/share/orch; empty where there is no home
  fs::path beside;  // the folder of the experiment, once there is one

  // Clusters that were measured for this user on this machine; empty where there is no home.
  fs::path own_clusters;

  // Where clusters, GPUs, stacks and models are looked for, the first counts most: beside the
  // experiment, in the user's own folder, among the shipped ones.
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
  // "shipped", or the folder that something of the user's was read from.
  std::string source(const fs::path& file) const;
  fs::path logs() const { return home / "templates/logs"; }  // patterns, a file per framework
  fs::path templates() const { return home / "templates/slurm"; }
  // How frameworks are started, the first counts most: frameworks/ beside the experiment, in the
  // user's own folder, the shipped ones.
  std::vector<fs::path> frameworks() const {
    return found("frameworks", home / "templates/frameworks");
  }

 private:
  std::vector<fs::path> found(const char* name, const fs::path& shipped) const;
};

// The file that starts this program again.
fs::path own_program();

Result<Places> find_places();

}  // namespace orch::app
